/** Why a server cannot start. */
export type ServerErrorCode =
  | "ERR_PORT_TAKEN"
  | "ERR_LISTEN"
  | "ERR_DATA_UNREADABLE"
  | "ERR_DATA_VERSION"
  | "ERR_RECORD_FILE";

/** A server could not start because of the machine it runs on. The message says what to do. */
export class ServerError extends Error {
  override readonly name = "ServerError";
  /** Stable, for programs. */
  readonly code: ServerErrorCode;

  constructor(code: ServerErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}
