import { randomBytes, webcrypto, X509Certificate } from "node:crypto";
import { isIP } from "node:net";

/** A certificate and its key in PEM. */
export interface SelfSigned {
  readonly cert: string;
  readonly key: string;
}

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const DAY = 86_400_000;
const VALID_FOR = 365 * DAY;
/** A certificate that has less time left is replaced at the start, because a server runs for a while. */
const LEAST_LEFT = 30 * DAY;

/**
 * Makes a certificate for trying TLS on this machine. It is its own issuer, so a client accepts it only if it is configured to trust
 * exactly this certificate, and it can issue no others.
 *
 * @param hosts Names and addresses that clients use.
 * @param now The time, in milliseconds since 1970.
 */
export async function createSelfSigned(hosts: readonly string[], now: number): Promise<SelfSigned> {
  // Loaded only now, because hardly anyone needs it. The library asks for the polyfill.
  await import("reflect-metadata");
  const x509 = await import("@peculiar/x509");
  x509.cryptoProvider.set(webcrypto as never);
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    // Positive, and never that of an earlier one, which some trust stores refuse.
    serialNumber: `01${randomBytes(8).toString("hex")}`,
    name: "CN=countersign (self-signed)",
    notBefore: new Date(now - DAY),
    notAfter: new Date(now + VALID_FOR),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(
        hosts.map((value) => ({ type: isIP(value) > 0 ? "ip" : "dns", value })),
      ),
    ],
  });
  const key = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey);
  return { cert: `${certificate.toString("pem")}\n`, key: toPem("PRIVATE KEY", Buffer.from(key)) };
}

/** Whether a certificate can still be used for some weeks, for all of these hosts. */
export function isUsable(cert: string, hosts: readonly string[], now: number): boolean {
  const certificate = new X509Certificate(cert);
  const names = hosts.every((host) =>
    isIP(host) > 0 ? certificate.checkIP(host) !== undefined : certificate.checkHost(host) !== undefined,
  );
  return names && Date.parse(certificate.validTo) > now + LEAST_LEFT;
}

function toPem(label: string, bytes: Buffer): string {
  const lines = bytes.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}
