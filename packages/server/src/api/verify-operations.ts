import { sign } from "@countersign/core";
import type { Delivery } from "@countersign/sender";
import { explainSignature } from "../verify/explain-signature.ts";
import { deliveryFor, destinationFor } from "./lookups.ts";
import { assertWithout, Problem, problemAt } from "./problem.ts";
import { ref, type ApiContext, type Operation } from "./operation.ts";
import { VERIFY_BODY } from "./schemas/verify.ts";

interface VerifyBody {
  readonly body?: string;
  readonly bodyBase64?: string;
  readonly signature?: string;
  readonly secret?: string;
  readonly destination?: string;
  readonly delivery?: string;
  readonly attempt?: number;
}

interface Question {
  readonly body: Uint8Array;
  readonly signature: string;
  readonly secret: string;
  /** Whether the right signature may be told: a secret of the settings signs only what was sent anyway. */
  readonly tells: boolean;
}

/** What `countersign verify` says, of anything or of an attempt. */
export const verifyOperations: readonly Operation[] = [
  {
    method: "POST",
    path: "/verify",
    id: "verifySignature",
    summary: "Why a signature matches a body, or why it does not, as `countersign verify` says it.",
    description:
      "The body has a `secret` or that of a `destination`, or it is that of an attempt of a `delivery` (default: the last one). `expected` is the right signature; with the secret of a destination, it is told only of a delivery.",
    body: VERIFY_BODY,
    maxBodyBytes: 2_097_152,
    answer: { status: 200, schema: ref("Explanation") },
    errors: {
      404: "Delivery or destination not found.",
      422: "Something is missing, such as the secret of the destination or the headers of the attempt, or is given besides a `delivery`, which has its own.",
    },
    async handle(context, { body }) {
      const { tells, ...question } = await questionOf(context, body as VerifyBody);
      const { matches, sentence, diagnoses } = explainSignature(question);
      const expected = tells && { expected: sign(question.body, question.secret) };
      return { matches, sentence, diagnoses, ...expected };
    },
  },
];

async function questionOf(context: ApiContext, given: VerifyBody): Promise<Question> {
  if (given.delivery !== undefined) {
    // To ignore a secret would say that it is right.
    assertWithout(given, ["body", "bodyBase64", "secret", "destination"], "delivery");
    return questionOfAttempt(context, given, given.delivery);
  }
  const { body, bodyBase64, signature, secret, destination } = given;
  if (signature === undefined) throw missing("signature", "or name a `delivery`");
  if ((body === undefined) === (bodyBase64 === undefined)) throw missing("body", "or `bodyBase64`, not both");
  if ((secret === undefined) === (destination === undefined))
    throw missing("secret", "or a `destination`, not both");
  return {
    body: bodyBase64 === undefined ? Buffer.from(body ?? "") : Buffer.from(bodyBase64, "base64"),
    signature,
    secret: secret ?? secretOf(context, destination ?? ""),
    tells: secret !== undefined,
  };
}

async function questionOfAttempt(
  context: ApiContext,
  { attempt: index, signature }: VerifyBody,
  id: string,
): Promise<Question> {
  const delivery = await deliveryFor(context, id);
  return {
    body: delivery.body,
    signature: signature ?? sentSignature(delivery, index),
    secret: secretOf(context, delivery.destination),
    tells: true,
  };
}

function sentSignature({ attempts }: Delivery, index: number | undefined): string {
  const attempt = attempts.at(index ?? -1);
  if (!attempt) throw new Problem(422, "The delivery has no such attempt yet.");
  if (!attempt.requestHeaders) {
    throw new Problem(
      422,
      "Nothing was sent in this attempt, or an earlier version made it and kept no headers.",
    );
  }
  const headers = Object.entries(attempt.requestHeaders);
  return headers.find(([name]) => name.toLowerCase() === "x-signature")?.[1] ?? "";
}

function secretOf(context: ApiContext, key: string): string {
  const { secret } = destinationFor(context, key);
  if (secret !== undefined) return secret;
  throw new Problem(
    422,
    `The destination ${JSON.stringify(key)} has no secret, so its messages are not signed.`,
  );
}

function missing(name: string, alternative: string): Problem {
  return problemAt({ pointer: `/${name}` }, `Give \`${name}\`, ${alternative}.`);
}
