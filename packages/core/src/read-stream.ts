import { createBodyBuffer } from "./body-buffer.ts";
import { WebhookError } from "./errors.ts";
import { bodyTooLarge } from "./request.ts";

/**
 * Reads the exact bytes of a web stream, such as the `body` of a `Request`, never more than `maxBytes` of them. For Node
 * streams there is `readRawBody` in `@countersign/core/node`.
 *
 * @param stream - The stream, which nothing has read or locked before.
 * @param options - `maxBytes`: the largest body accepted, in bytes.
 * @throws WebhookError `ERR_BODY_TOO_LARGE` as soon as the limit is passed, the rest cancelled; `ERR_BODY_ABORTED` when
 *   the stream fails before its end; `ERR_BODY_ALREADY_READ` when something else holds it.
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
    // Not awaited: what the source does with it must not keep the answer waiting, nor change it.
    reader.cancel().catch(() => {});
    throw bodyTooLarge(options.maxBytes);
  }
}
