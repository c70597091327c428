import { WebhookError } from "../errors.ts";

/**
 * The error for a body beyond the limit, for your own `read` of a `WebhookBody`.
 *
 * @param maxBodyBytes - The limit, in bytes.
 * @example
 * ```ts
 * const read = async ({ maxBytes }: { maxBytes: number }): Promise<Uint8Array> => {
 *   if (rawBody.length > maxBytes) throw bodyTooLarge(maxBytes);
 *   return rawBody;
 * };
 * ```
 */
export function bodyTooLarge(maxBodyBytes: number): WebhookError {
  return new WebhookError("ERR_BODY_TOO_LARGE", {
    message: `The body is larger than the ${maxBodyBytes} bytes this receiver accepts.`,
  });
}
