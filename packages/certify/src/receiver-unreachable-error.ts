/**
 * No connection to the receiver could be made: nothing listens at its URL, the name does not resolve, or its certificate is
 * not trusted.
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
   * @param url - Where the receiver should be.
   * @param trouble - Why the connection failed, such as `connect ECONNREFUSED 127.0.0.1:3000`.
   */
  constructor(url: URL, trouble: string) {
    super(
      `Cannot connect to ${url.origin}${url.pathname}: ${trouble}. Start the receiver, or correct the URL.`,
    );
  }
}
