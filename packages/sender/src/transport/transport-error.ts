/** Why there was no response, when we name the reason and not the operating system. */
export type TransportErrorCode =
  | "ERR_ABORTED"
  | "ERR_ADDRESS_BLOCKED"
  | "ERR_CLOSED"
  | "ERR_INFORMATIONAL_FLOOD"
  | "ERR_INVALID_CA"
  | "ERR_PROXY"
  | "ERR_TIMEOUT"
  | "ERR_UNEXPECTED_INFORMATIONAL"
  | "ETIMEDOUT";

/** An attempt could not be made or was aborted. Used inside the transport; callers get an outcome. */
export class TransportError extends Error {
  override readonly name = "TransportError";
  readonly code: TransportErrorCode;

  constructor(code: TransportErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** The endpoint's certificate was not accepted. `code` is the verifier's own: `CERT_HAS_EXPIRED`, ... */
export class CertificateError extends Error {
  override readonly name = "CertificateError";
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
