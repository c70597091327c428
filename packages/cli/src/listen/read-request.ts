import type { IncomingMessage } from "node:http";
import {
  createReceiver,
  type Diagnosis,
  type WebhookError,
  type WebhookErrorCode,
  type WebhookResponse,
} from "@countersign/core";
import { toWebhookRequest } from "@countersign/core/node";
import { explainSignature } from "@countersign/server/explain";
import type { Heard } from "./heard.ts";

/** What a request is. */
export interface ReadRequest extends Pick<Heard, "message" | "body" | "problem" | "diagnoses"> {
  /** Whether the signature was right, or there is no secret to verify with. */
  readonly accepted: boolean;
  /** What to answer, if it is no well-formed message. */
  readonly refusal?: WebhookResponse | undefined;
}

/** The checks that come after the signature: what fails them is from the holder of the secret. */
const AUTHENTIC: ReadonlySet<WebhookErrorCode> = new Set([
  "ERR_INVALID_UTF8",
  "ERR_INVALID_JSON",
  "ERR_UNKNOWN_TYPE",
  "ERR_INVALID_MESSAGE",
]);

interface Rejection {
  readonly receivedBody?: Uint8Array;
  readonly diagnoses: readonly Diagnosis[];
}

/**
 * Reads requests as a receiver does, and keeps what a person wants to know about those that it rejects.
 *
 * @param secret Without one, signatures are not verified.
 */
export function createReader(secret: string | undefined): (request: IncomingMessage) => Promise<ReadRequest> {
  const rejections = new WeakMap<IncomingMessage, Rejection>();
  const receiver = createReceiver<IncomingMessage>({
    ...(secret === undefined ? { unsigned: true } : { secret }),
    // A type that is new at the service is worth seeing.
    allowUnknownTypes: true,
    onRejected: (_error, { request, ...rejection }) => void rejections.set(request, rejection),
  });
  return async (request) => {
    const received = await receiver.receive(toWebhookRequest<IncomingMessage>(request));
    if (received.verdict !== "rejected") {
      const { message, receivedBody, rawBody } = received.webhook;
      return { accepted: true, message, body: receivedBody ?? rawBody, diagnoses: [] };
    }
    const { error, response } = received;
    const { receivedBody: body, diagnoses } = rejections.get(request) ?? { diagnoses: [] };
    const text = textOf(error, { signature: request.headers["x-signature"], body, secret });
    const accepted = AUTHENTIC.has(error.code) && body !== undefined;
    return { accepted, body, problem: { code: error.code, text }, diagnoses, refusal: response };
  };
}

/** What a signature was compared with. */
interface Compared {
  readonly signature: string | string[] | undefined;
  readonly body: Uint8Array | undefined;
  readonly secret: string | undefined;
}

/** What to do about a rejection. A wrong signature is explained as `countersign verify` does. */
function textOf({ code, hint, message }: WebhookError, { signature, body, secret }: Compared): string {
  if (code === "ERR_SIGNATURE_MISMATCH" && typeof signature === "string" && body && secret !== undefined) {
    return explainSignature({ body, signature, secret }).sentence;
  }
  // Such a hint speaks of the signature, which nobody has checked here.
  if (secret === undefined && AUTHENTIC.has(code)) return message;
  // The message names the field of a malformed message.
  return code === "ERR_INVALID_MESSAGE" ? message : hint;
}
