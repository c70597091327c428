import { WebhookError } from "../errors.ts";
import { readStream } from "./read-stream.ts";
import type { WebhookBody } from "./request.ts";

const ALREADY_READ =
  "Something read request.body before verifyWebhook(), and a body can be read only once. Verify first, read " +
  "request.clone() instead, or pass new Request(request, { body: bytes }) with the bytes that were read.";

/**
 * Where the body of a web-standard `Request` comes from. For Node requests use `toWebhookRequest` of
 * `@countersign/core/node`.
 *
 * @param request - A request. If its body was read before, the result is `gone`.
 * @example
 * ```ts
 * async function verdictOn(request: Request) {
 *   const { method, headers } = request;
 *   return receiver.receive({ method, headers, body: requestBody(request), request });
 * }
 * ```
 */
export function requestBody(request: Request): WebhookBody {
  if (request.bodyUsed) return { from: "gone", hint: ALREADY_READ };
  return { from: "stream", read: ({ maxBytes }) => readRequest(request, maxBytes) };
}

async function readRequest(request: Request, maxBytes: number): Promise<Uint8Array> {
  try {
    // A declared length has been checked by now, and HTTP servers hold a body to it. The stream, which most runtimes create
    // only on demand, costs several times as much.
    if (Number(request.headers.get("content-length")) > 0) return new Uint8Array(await request.arrayBuffer());
    return request.body === null ? new Uint8Array() : await readStream(request.body, { maxBytes });
  } catch (cause) {
    // Had reading begun, the body would count as used: something else holds it locked.
    if (!request.bodyUsed) throw new WebhookError("ERR_BODY_ALREADY_READ", { hint: ALREADY_READ, cause });
    throw cause instanceof WebhookError ? cause : new WebhookError("ERR_BODY_ABORTED", { cause });
  }
}
