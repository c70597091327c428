/**
 * There was no receiver to audit: nothing listens at its URL, the name does not resolve, or its certificate is not
 * trusted.
 *
 * @example
 * ```ts
 * await certify({ url, secret }).catch((error) => {
 *   if (error instanceof ReceiverUnreachableError) console.error(error.message);
 * });
 * ```
 */
export class ReceiverUnreachableError extends Error {
  override readonly name = "ReceiverUnreachableError";
  readonly code = "ERR_RECEIVER_UNREACHABLE";

  /**
   * @param url - Where the receiver should have been.
   * @param trouble - What came of connecting, such as `connect ECONNREFUSED 127.0.0.1:3000`.
   */
  constructor(url: URL, trouble: string) {
    super(
      `There is no connection to ${url.origin}${url.pathname}: ${trouble}. Start the receiver, or correct the URL.`,
    );
  }
}
