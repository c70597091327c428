import { STATUS_CODES } from "node:http";
import { isError } from "@countersign/protocol";
import { CallError, SettingsError, StoreError } from "@countersign/sender";
import type { FastifyInstance, FastifyReply } from "fastify";
import type { AllowedMethods } from "../allowed-methods.ts";
import { pointerOf, Problem, problemAt, settingsProblem } from "./problem.ts";
import { validationProblem } from "./validation-problem.ts";

/**
 * Makes every error of a scope an `application/problem+json`.
 *
 * @param allowedMethods Tells which methods a path takes, so that a wrong one is told apart from a wrong path.
 */
export function answerWithProblems(
  scope: FastifyInstance,
  onError: (error: unknown) => void,
  allowedMethods: AllowedMethods,
): void {
  scope.setErrorHandler(async (error, _request, reply) => {
    const problem = problemOf(error);
    if (problem.status >= 500) onError(error);
    if (problem.status === 503) reply.header("retry-after", "5");
    return sendProblem(reply, problem);
  });
  scope.setNotFoundHandler(async ({ method, url }, reply) => {
    const allowed = allowedMethods(url);
    if (allowed.length === 0)
      return sendProblem(
        reply,
        new Problem(404, "Path not found. The API is described at /api/openapi.json."),
      );
    reply.header("allow", allowed.join(", "));
    return sendProblem(
      reply,
      new Problem(405, `This path does not take ${method}. Use ${allowed.join(" or ")}.`),
    );
  });
}

function sendProblem(reply: FastifyReply, { status, message: detail, errors }: Problem): FastifyReply {
  const title = STATUS_CODES[status] ?? "Error";
  const body = { type: "about:blank", title, status, detail, ...(errors && { errors }) };
  return reply.code(status).type("application/problem+json").send(JSON.stringify(body));
}

function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof CallError) return problemAt({ pointer: pointerOf(error.field ?? "") }, error.message);
  if (error instanceof SettingsError) return settingsProblem(error, "");
  if (error instanceof StoreError) return new Problem(503, error.message);
  const invalid = validationProblem(error);
  if (invalid) return invalid;
  const status = isError(error) && "statusCode" in error ? Number(error.statusCode) : 500;
  // As of `curl -d` without the header, which sends a form.
  if (status === 415)
    return new Problem(415, "Send the body as JSON, with the header `Content-Type: application/json`.");
  if (isError(error) && status >= 400 && status < 500) return new Problem(status, error.message);
  return new Problem(500, "The server failed. See its log for details.");
}
