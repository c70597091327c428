// oxlint-disable-next-line import/no-unassigned-import -- a polyfill that the certificate library needs
import "reflect-metadata";
import { webcrypto } from "node:crypto";
import * as x509 from "@peculiar/x509";

/** A certificate and its key in PEM, as `https.createServer` takes them. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** A certificate authority that signs what it is asked to. */
export interface Authority {
  readonly pem: string;
  issue(subject: CertificateSubject): Promise<Certificate>;
}

export interface CertificateSubject {
  /** DNS names and IP addresses it is valid for. */
  readonly names: readonly string[];
  /** Milliseconds from now; a negative number has expired. */
  readonly expiresIn?: number;
  /** Milliseconds from now at which it becomes valid; an hour ago unless told. */
  readonly startsIn?: number;
}

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const DAY = 86_400_000;

function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
}

function validity({ startsIn = -DAY, expiresIn = DAY }: Partial<CertificateSubject>): {
  notBefore: Date;
  notAfter: Date;
} {
  return { notBefore: new Date(Date.now() + startsIn), notAfter: new Date(Date.now() + expiresIn) };
}

function alternativeNames(names: readonly string[]): x509.SubjectAlternativeNameExtension {
  return new x509.SubjectAlternativeNameExtension(
    names.map((value): x509.JsonGeneralName => ({ type: /^[\d.]+$|:/u.test(value) ? "ip" : "dns", value })),
  );
}

async function inPem(certificate: x509.X509Certificate, keys: webcrypto.CryptoKeyPair): Promise<Certificate> {
  const key = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey);
  return { cert: certificate.toString("pem"), key: x509.PemConverter.encode(key, "PRIVATE KEY") };
}

/** Mints an authority that no system trusts. */
export async function createAuthority(name = "Test Authority"): Promise<Authority> {
  const keys = await newKeys();
  const root = await x509.X509CertificateGenerator.createSelfSigned({
    name: `CN=${name}`,
    keys,
    signingAlgorithm: ALGORITHM,
    ...validity({}),
    extensions: [
      new x509.BasicConstraintsExtension(true, 1, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
    ],
  });
  return {
    pem: root.toString("pem"),
    async issue(subject) {
      const subjectKeys = await newKeys();
      const certificate = await x509.X509CertificateGenerator.create({
        subject: "CN=endpoint",
        issuer: root.subject,
        publicKey: subjectKeys.publicKey,
        signingKey: keys.privateKey,
        signingAlgorithm: ALGORITHM,
        ...validity(subject),
        extensions: [alternativeNames(subject.names)],
      });
      return inPem(certificate, subjectKeys);
    },
  };
}

/** Mints a certificate that vouches for itself. */
export async function selfSigned(subject: CertificateSubject): Promise<Certificate> {
  const keys = await newKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: "CN=endpoint",
    keys,
    signingAlgorithm: ALGORITHM,
    ...validity(subject),
    extensions: [alternativeNames(subject.names)],
  });
  return inPem(certificate, keys);
}
