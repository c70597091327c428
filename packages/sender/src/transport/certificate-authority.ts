import { X509Certificate } from "node:crypto";
import { createSecureContext, type SecureContext } from "node:tls";
import { messageOf } from "@countersign/protocol";
import { TransportError } from "./transport-error.ts";

const CERTIFICATE_BLOCK = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/gu;

/**
 * Refuses what cannot serve as an endpoint's `ca`. Node itself accepts any text and then trusts no
 * certificate, which would show only when deliveries fail.
 *
 * @param ca One or several texts in PEM, each holding one or several certificates.
 * @throws TypeError when a text contains no certificate, or one that cannot be read.
 */
export function assertCertificateAuthority(ca: string | readonly string[]): void {
  certificatesIn(ca);
}

/**
 * What verifies endpoints that share a `ca`. The certificates are read when a connection first needs them, and once, because that
 * is slow.
 *
 * @returns A function that throws a TransportError `ERR_INVALID_CA` if they cannot be read.
 */
export function trustOnly(ca: string | readonly string[]): () => SecureContext {
  let context: SecureContext | undefined;
  return () => (context ??= contextOf(ca));
}

function contextOf(ca: string | readonly string[]): SecureContext {
  try {
    return createSecureContext({ ca: certificatesIn(ca) });
  } catch (error) {
    const reason = messageOf(error);
    throw new TransportError("ERR_INVALID_CA", reason, { cause: error });
  }
}

function certificatesIn(ca: string | readonly string[]): string[] {
  const texts = typeof ca === "string" ? [ca] : ca;
  if (texts.length === 0) {
    throw new TypeError("ca is an empty list: leave it out to trust the system's certificate authorities");
  }
  return texts.flatMap((text) => {
    const blocks = text.match(CERTIFICATE_BLOCK);
    if (blocks === null) {
      throw new TypeError("ca contains no PEM certificate: pass the text of the file, not its path");
    }
    return blocks.map(readable);
  });
}

function readable(pem: string): string {
  try {
    return new X509Certificate(pem).toString();
  } catch (error) {
    throw new TypeError("ca contains a PEM certificate that cannot be read", { cause: error });
  }
}
