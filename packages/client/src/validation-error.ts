/**
 * A call that cannot be recorded: a required field is missing, a field is of the wrong kind, or JSON cannot carry it.
 *
 * It is thrown by the call itself, so whoever wrote the call sees it, and nothing of that call was queued. The words for
 * missing fields are those of the Go library (spec 2.3, 7).
 *
 * @example
 * ```ts
 * try {
 *   analytics.track({ userId: "u1", event: "" });
 * } catch (error) {
 *   if (error instanceof ValidationError) console.warn(error.field, error.message); // event You must pass 'event'.
 * }
 * ```
 */
export class ValidationError extends Error {
  override readonly name = "ValidationError";
  /** The field at fault, as a path: `event`, `timestamp`, `properties.items.0.price`, or `message` for the whole call. */
  readonly field: string;

  /**
   * @param field - The field at fault.
   * @param message - What was wrong with it and what to do.
   * @param options - `cause`: the exception behind it, where there is one.
   */
  constructor(field: string, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.field = field;
  }
}
