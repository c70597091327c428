import { createPrivateKey, X509Certificate, type KeyObject } from "node:crypto";
import { createSecureContext } from "node:tls";
import { checkOptionNames, messageOf } from "@countersign/protocol";
import { ServerOptionsError, type TlsOptions } from "./server-options.ts";

/**
 * Checks the options of TLS, and that the certificate and its key belong together.
 *
 * @throws ServerOptionsError that says which of the two is wrong, and how.
 */
export function checkTls(tls: TlsOptions): void {
  try {
    checkOptionNames("createServer({ tls })", tls, { cert: true, key: true });
  } catch (error) {
    throw new ServerOptionsError(messageOf(error));
  }
  const certificate = readCertificate(tls.cert);
  const key = readKey(tls.key);
  if (!certificate.checkPrivateKey(key)) {
    throw new ServerOptionsError(
      `\`tls.key\` is not the key of the certificate in \`tls.cert\` (${certificate.subject || "no subject"}). Give the two that were made together.`,
    );
  }
  try {
    createSecureContext({ cert: tls.cert, key: tls.key });
  } catch (error) {
    throw new ServerOptionsError(`\`tls\` cannot be used: ${messageOf(error)}.`);
  }
}

function readCertificate(cert: string | Buffer): X509Certificate {
  const hint = saysPrivateKey(cert)
    ? "it is a private key; give that as `tls.key`"
    : "a certificate in PEM begins with -----BEGIN CERTIFICATE-----";
  if (!isText(cert) || !String(cert).includes("-----BEGIN CERTIFICATE-----")) {
    throw new ServerOptionsError(`\`tls.cert\` is not a certificate: ${hint}.`);
  }
  try {
    return new X509Certificate(cert);
  } catch (error) {
    throw new ServerOptionsError(`\`tls.cert\` is a damaged certificate: ${messageOf(error)}.`);
  }
}

function readKey(key: string | Buffer): KeyObject {
  if (!isText(key) || !saysPrivateKey(key)) {
    const hint = String(key).includes("-----BEGIN CERTIFICATE-----")
      ? "it is a certificate; give that as `tls.cert`"
      : "a key in PEM begins with -----BEGIN PRIVATE KEY-----";
    throw new ServerOptionsError(`\`tls.key\` is not a private key: ${hint}.`);
  }
  if (String(key).includes("ENCRYPTED")) {
    throw new ServerOptionsError("`tls.key` has a passphrase. Use a key without one.");
  }
  try {
    return createPrivateKey(key);
  } catch (error) {
    throw new ServerOptionsError(`\`tls.key\` is a damaged private key: ${messageOf(error)}.`);
  }
}

function isText(value: unknown): value is string | Buffer {
  return typeof value === "string" || Buffer.isBuffer(value);
}

function saysPrivateKey(pem: unknown): boolean {
  return /-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(String(pem));
}
