/** The command was called in a way that cannot work: exit code 2. The message says what to do. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}
