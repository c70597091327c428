import { createBodyBuffer } from "./body-buffer.ts";
import { WebhookError } from "../errors.ts";
import { bodyTooLarge } from "./body-too-large.ts";

/**
 * Reads the exact bytes of a web stream, such as the `body` of a `Request`, at most `maxBytes` of them. For Node streams use
 * `readRawBody` of `@countersign/core/node`.
 *
 * @param stream - A stream that nothing has read or locked.
 * @param options - `maxBytes`: the largest body accepted, in bytes.
 * @throws WebhookError `ERR_BODY_TOO_LARGE` as soon as the limit is passed, the rest cancelled; `ERR_BODY_ABORTED` if
 *   the stream fails before its end; `ERR_BODY_ALREADY_READ` if something else has locked it.
 * @example
 * ```ts
 * const bytes = await readStream(stream, { maxBytes: 1_048_576 });
 * ```
 */
export async function readStream(
  stream: ReadableStream<Uint8Array>,
  options: { readonly maxBytes: number },
): Promise<Uint8Array> {
  if (stream.locked) throw new WebhookError("ERR_BODY_ALREADY_READ");
  const reader = stream.getReader();
  const body = createBodyBuffer(options.maxBytes);
  for (;;) {
    const { done, value } = await reader.read().catch((cause: unknown) => {
      throw new WebhookError("ERR_BODY_ABORTED", { cause });
    });
    if (done) return body.bytes();
    if (body.append(value)) continue;
    // Not awaited: the source must neither delay nor change the answer.
    reader.cancel().catch(() => {});
    throw bodyTooLarge(options.maxBytes);
  }
}
