import { STATUS_CODES } from "node:http";
import { CallError, SettingsError } from "@countersign/sender";
import type { FastifyInstance, FastifyReply } from "fastify";

/** An answer of the control API that is an error (RFC 9457). */
export class Problem extends Error {
  override readonly name = "Problem";
  readonly status: number;

  /** @param detail What was wrong and what to do, for the caller to read. */
  constructor(status: number, detail: string) {
    super(detail);
    this.status = status;
  }
}

/** Makes every error of a scope an `application/problem+json`. */
export function answerWithProblems(scope: FastifyInstance, onError: (error: unknown) => void): void {
  scope.setErrorHandler(async (error, _request, reply) => {
    const { status, detail } = describe(error);
    if (status >= 500) onError(error);
    return sendProblem(reply, status, detail);
  });
  scope.setNotFoundHandler(async (_request, reply) =>
    sendProblem(reply, 404, "Path not found. The API is described at /api/openapi.json."),
  );
}

function sendProblem(reply: FastifyReply, status: number, detail: string): FastifyReply {
  const body = { type: "about:blank", title: STATUS_CODES[status] ?? "Error", status, detail };
  return reply.code(status).type("application/problem+json").send(JSON.stringify(body));
}

function describe(error: unknown): { readonly status: number; readonly detail: string } {
  if (error instanceof Problem) return { status: error.status, detail: error.message };
  // Settings and calls are the caller's own; their errors name the field.
  if (error instanceof CallError || error instanceof SettingsError)
    return { status: 422, detail: error.message };
  const status = error instanceof Error && "statusCode" in error ? Number(error.statusCode) : 500;
  if (error instanceof Error && status >= 400 && status < 500) return { status, detail: error.message };
  return { status: 500, detail: "The server failed. See its log for details." };
}
