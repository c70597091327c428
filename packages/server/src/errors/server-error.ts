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

/** The error about a file of the data directory that this version does not know. */
export function writtenByNewer(path: string): ServerError {
  return new ServerError(
    "ERR_DATA_VERSION",
    `${path} was written by a newer version of countersign. Upgrade this one, or use another data directory.`,
  );
}
