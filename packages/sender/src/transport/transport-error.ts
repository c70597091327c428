import { codeOf, isObject, messageOf } from "@countersign/protocol";

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

/**
 * The message of an error of a connection. That of OpenSSL is a line of its error queue: the reason is the readable part of it.
 */
export function connectionMessageOf(error: unknown): string {
  const code = codeOf(error) ?? "";
  if (!code.startsWith("ERR_SSL_") || !isObject(error)) return messageOf(error);
  const { reason } = error;
  return `the TLS handshake failed: ${typeof reason === "string" ? reason : messageOf(error)}`;
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
