// oxlint-disable-next-line import/no-unassigned-import -- a polyfill that the certificate library needs
import "reflect-metadata";
import { webcrypto } from "node:crypto";
import { createServer } from "node:https";
import { certify, ReceiverUnreachableError } from "@countersign/certify";
import * as x509 from "@peculiar/x509";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { coreReceiver } from "./support/core-receiver.ts";
import { listen, SECRET, type RunningReceiver } from "./support/listen.ts";

let certificate: string;
let receiver: RunningReceiver;
let url: string;
let requests = 0;

beforeAll(async () => {
  const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const selfSigned = await x509.X509CertificateGenerator.createSelfSigned({
    name: "CN=127.0.0.1",
    keys,
    signingAlgorithm: algorithm,
    notBefore: new Date(Date.now() - 86_400_000),
    notAfter: new Date(Date.now() + 86_400_000),
    extensions: [new x509.SubjectAlternativeNameExtension([{ type: "ip", value: "127.0.0.1" }])],
  });
  certificate = selfSigned.toString("pem");
  const key = x509.PemConverter.encode(
    await webcrypto.subtle.exportKey("pkcs8", keys.privateKey),
    "PRIVATE KEY",
  );
  const server = createServer({ cert: certificate, key }, coreReceiver());
  server.on("request", () => (requests += 1));
  receiver = await listen(server);
  url = receiver.url.replace("http:", "https:");
});

afterAll(() => receiver.close());

it("passes every audit over TLS, its authority being trusted", async () => {
  const report = await certify({ url, secret: SECRET, ca: certificate });
  expect(report.results.filter(({ outcome }) => outcome !== "passed")).toEqual([]);
});

it("sends nothing to a receiver with an untrusted certificate, whatever the environment says", async () => {
  vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
  requests = 0;
  const refusal: unknown = await certify({ url, secret: SECRET }).catch((error: unknown) => error);
  vi.unstubAllEnvs();
  expect(requests).toBe(0);
  expect(refusal).toBeInstanceOf(ReceiverUnreachableError);
  expect(String(refusal)).toMatch(/self.signed/i);
});
