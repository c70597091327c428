import { execFile } from "node:child_process";
import type { TlsOptions } from "node:tls";
import { promisify } from "node:util";
import { noAnswer } from "@countersign/sender/explain";
import { virtualClock } from "@countersign/sender/testing";
import { beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { createTransport } from "../dist/transport/create-transport.js";
import type { AttemptResult } from "../dist/transport/transport.js";
import { openSender } from "./support/open-sender.ts";
import { createAuthority, selfSigned, type Authority, type Certificate } from "./support/certificates.ts";
import { httpEndpoint, rawEndpoint } from "./support/endpoints.ts";

const HOUR = 3_600_000;
const body = new TextEncoder().encode('{"type":"track"}');

let authority: Authority;
let other: Authority;

beforeAll(async () => {
  [authority, other] = await Promise.all([createAuthority(), createAuthority("Somebody Else")]);
});

function send(url: string, ca?: string | readonly string[]): Promise<AttemptResult> {
  const transport = createTransport();
  onTestFinished(() => transport.close());
  return transport.send({ url, headers: {}, body, ca }, { timeoutMs: 5_000 });
}

interface BadServer {
  readonly name: string;
  readonly certificate: () => Promise<Certificate>;
  readonly code: string;
}

const badServers: readonly BadServer[] = [
  {
    name: "a self-signed certificate",
    certificate: () => selfSigned({ names: ["127.0.0.1"] }),
    code: "DEPTH_ZERO_SELF_SIGNED_CERT",
  },
  {
    name: "an expired certificate",
    certificate: () => authority.issue({ names: ["127.0.0.1"], expiresIn: -HOUR }),
    code: "CERT_HAS_EXPIRED",
  },
  {
    name: "a certificate that is not valid yet",
    certificate: () => authority.issue({ names: ["127.0.0.1"], startsIn: HOUR }),
    code: "CERT_NOT_YET_VALID",
  },
  {
    name: "a certificate for another host",
    certificate: () => authority.issue({ names: ["elsewhere.example"] }),
    code: "ERR_TLS_CERT_ALTNAME_INVALID",
  },
  {
    name: "a certificate of an unknown authority",
    certificate: () => other.issue({ names: ["127.0.0.1"] }),
    code: "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  },
];

describe("a server whose certificate is not accepted", () => {
  it.each(badServers)("$name: outcome tls with its code, and no request", async ({ certificate, code }) => {
    const endpoint = await httpEndpoint(undefined, await certificate());

    const result = await send(endpoint.url, authority.pem);

    expect(result).toMatchObject({ outcome: "tls", code });
    expect(result.message).toContain("the certificate was not accepted");
    expect(endpoint.connections()).toBe(1);
    expect(endpoint.begun).toEqual([]);
  });

  it("is not taken for one without its chain if its authority is private, which is told to be passed as ca", async () => {
    const endpoint = await httpEndpoint(undefined, await other.issue({ names: ["127.0.0.1"] }));

    const { code, outcome } = await send(endpoint.url);

    const { words, fix } = noAnswer(code, outcome);
    expect(words).toBe("has a certificate whose issuer is not known here");
    expect(fix).toMatch(/^Pass the certificate of a private authority as the endpoint's `ca`/);
  });

  it("cannot fill the store with the names in it: each attempt keeps a thousand characters of what is wrong", async () => {
    const label = "a".repeat(60);
    const names = Array.from({ length: 300 }, (_, index) => `${label}.${label}.${label}.${index}.example`);
    const endpoint = await httpEndpoint(undefined, await authority.issue({ names }));

    const result = await send(endpoint.url.replace("127.0.0.1", "localhost"), authority.pem);

    expect(result).toMatchObject({ outcome: "tls", code: "ERR_TLS_CERT_ALTNAME_INVALID" });
    expect(result.message).toContain("does not match certificate's altnames: Host: localhost.");
    expect(result.message?.length).toBeLessThan(1_100);
  });

  it("sees no request on a second attempt either, when a session could be resumed", async () => {
    const endpoint = await httpEndpoint(undefined, await authority.issue({ names: ["127.0.0.1"] }));
    const transport = createTransport();
    onTestFinished(() => transport.close());
    const attempt = (ca?: string): Promise<AttemptResult> =>
      transport.send({ url: endpoint.url, headers: {}, body, ca }, { timeoutMs: 5_000 });

    expect((await attempt(authority.pem)).outcome).toBe("success");
    expect((await attempt(undefined)).outcome).toBe("tls");
    expect((await attempt(other.pem)).outcome).toBe("tls");
    expect((await attempt(authority.pem)).outcome).toBe("success");
    expect(endpoint.begun).toHaveLength(2);
  });
});

describe("a server whose certificate is accepted", () => {
  it("takes the message, by address", async () => {
    const endpoint = await httpEndpoint(undefined, await authority.issue({ names: ["127.0.0.1"] }));

    expect(await send(endpoint.url, authority.pem)).toMatchObject({ outcome: "success", status: 204 });
    expect(endpoint.requests.map((request) => request.body.toString())).toEqual(['{"type":"track"}']);
  });

  it("takes the message, by name, when one of several authorities vouches for it", async () => {
    const endpoint = await httpEndpoint(undefined, await authority.issue({ names: ["localhost"] }));
    const url = endpoint.url.replace("127.0.0.1", "localhost");

    expect(await send(url, [other.pem, authority.pem])).toMatchObject({ outcome: "success" });
    expect(await send(url, other.pem + authority.pem)).toMatchObject({ outcome: "success" });
    expect(endpoint.requests).toHaveLength(2);
  });
});

describe("a name with the root's dot", () => {
  it("is asked for and verified without it", async () => {
    const names: unknown[] = [];
    const certificate = await authority.issue({ names: ["endpoint.example"] });
    const endpoint = await httpEndpoint((_, response) => {
      names.push("servername" in response.req.socket ? response.req.socket.servername : undefined);
      response.end();
    }, certificate);
    const transport = createTransport({ resolveHost: async () => [{ address: "127.0.0.1", family: 4 }] });
    onTestFinished(() => transport.close());
    const url = `https://endpoint.example.:${endpoint.port}/`;

    const result = await transport.send({ url, headers: {}, body, ca: authority.pem }, { timeoutMs: 5_000 });

    expect(result).toMatchObject({ outcome: "success" });
    expect(names).toEqual(["endpoint.example"]);
  });
});

describe("a sender", () => {
  it("delivers to the two good servers of six, and sends no request to the four bad ones", async () => {
    const bad = badServers.filter(({ code }) => code !== "CERT_NOT_YET_VALID");
    const named = await authority.issue({ names: ["localhost"] });
    const certificates = await Promise.all(bad.map(({ certificate }) => certificate()));
    const refused = await Promise.all(
      certificates.map((certificate) => httpEndpoint(undefined, certificate)),
    );
    const byAddress = await httpEndpoint(undefined, await authority.issue({ names: ["127.0.0.1"] }));
    const byName = await httpEndpoint(undefined, named);
    const urls = [...refused, byAddress].map(({ url }) => url);
    const sender = await openSender({
      sources: [
        {
          name: "web",
          destinations: [...urls, byName.url.replace("127.0.0.1", "localhost")].map((url) => ({
            endpoints: [{ url, ca: authority.pem }],
          })),
        },
      ],
    });

    const deliveries = await (await sender.track({ userId: "u1", event: "A" })).settled();

    const ends = deliveries.map(
      ({ state, attempts }) => `${state} ${attempts.map(({ code }) => code).join()}`,
    );
    expect(ends.toSorted()).toEqual(
      [...bad.map(({ code }) => `failed ${code}`), "delivered ", "delivered "].toSorted(),
    );
    expect(refused.map(({ begun }) => begun.length)).toEqual([0, 0, 0, 0]);
    expect(byAddress.requests).toHaveLength(1);
    expect(byName.requests).toHaveLength(1);
  });

  it("goes on to a good endpoint of a destination whose others are bad", async () => {
    const bad = await httpEndpoint(undefined, await selfSigned({ names: ["127.0.0.1"] }));
    const good = await httpEndpoint((_, response) =>
      response.writeHead(good.begun.length > 1 ? 200 : 503).end(),
    );
    const clock = virtualClock();
    const sender = await openSender({
      sources: [{ name: "web", destinations: [{ endpoints: [{ url: bad.url }, { url: good.url }] }] }],
      clock,
    });

    const receipt = await sender.track({ userId: "u1", event: "A" });
    await clock.advance("1m");
    const [delivery] = await receipt.settled();

    expect(delivery?.state).toBe("delivered");
    expect(good.begun).toHaveLength(2);
    // Refused for good in the first round: not tried again in the second.
    expect(bad.connections()).toBe(1);
    expect(bad.begun).toEqual([]);
  });
});

describe("a handshake that is never answered", () => {
  it("is given up with its attempt", async () => {
    const endpoint = await rawEndpoint(() => {});
    const url = endpoint.url.replace("http:", "https:");
    const sender = await openSender({ url, attemptTimeout: "150ms", clock: virtualClock() });

    const receipt = await sender.track({ userId: "u1", event: "A" });

    await sender.expect(receipt).attempts(["timeout"]);
    await vi.waitFor(() => expect(endpoint.open.size).toBe(0));
  });
});

describe("a TLS handshake that fails", () => {
  it("is a network failure when the endpoint speaks plain HTTP", async () => {
    const endpoint = await httpEndpoint();

    const result = await send(endpoint.url.replace("http:", "https:"));

    expect(result).toMatchObject({
      outcome: "network",
      // OpenSSL 3.5 takes what is no TLS for a record that is too long.
      message: expect.stringMatching(
        /^the TLS handshake failed: (?:wrong version number|packet length too long)$/,
      ) as string,
    });
    expect(endpoint.begun).toEqual([]);
  });

  it.each<[string, Omit<TlsOptions, "cert" | "key">, RegExp, RegExp]>([
    [
      "wants a client certificate (TLS 1.3, where the handshake has ended for this side)",
      { requestCert: true, rejectUnauthorized: true, minVersion: "TLSv1.3" },
      /^ERR_SSL_.*ALERT_CERTIFICATE_REQUIRED$/,
      /asks for a client certificate/,
    ],
    [
      "wants a client certificate (TLS 1.2)",
      { requestCert: true, rejectUnauthorized: true, maxVersion: "TLSv1.2" },
      /^ERR_SSL_.*ALERT_HANDSHAKE_FAILURE$/,
      /refused the TLS handshake/,
    ],
    [
      "has only an old version of TLS",
      { minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" },
      /PROTOCOL_VERSION$|UNSUPPORTED_PROTOCOL$/,
      /no version of TLS in common/,
    ],
  ])("names the reason when the endpoint %s", async (_, options, code, words) => {
    const certificate = await authority.issue({ names: ["127.0.0.1"] });
    const endpoint = await httpEndpoint(undefined, { ...certificate, ...options });

    const result = await send(endpoint.url, authority.pem);

    expect(result).toMatchObject({ outcome: "network", code: expect.stringMatching(code) });
    expect(result.message).toMatch(/^the TLS handshake failed: [\w /.]+$/);
    expect(noAnswer(result.code, result.outcome).words).toMatch(words);
    expect(endpoint.begun).toEqual([]);
    await vi.waitFor(() => expect(endpoint.open.size).toBe(0));
  });

  it("is a timeout when the handshake is never answered", async () => {
    const endpoint = await rawEndpoint(() => {});
    const transport = createTransport();
    onTestFinished(() => transport.close());

    const url = endpoint.url.replace("http:", "https:");
    const result = await transport.send({ url, headers: {}, body }, { timeoutMs: 100 });

    expect(result).toMatchObject({ outcome: "timeout", code: "ETIMEDOUT" });
  });

  it.each([
    [
      "text that is no certificate",
      "certificate.pem",
      "no PEM certificate: pass the text of the file, not its path",
    ],
    ["an empty list", [], "an empty list: leave it out"],
    [
      "a damaged certificate",
      "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
      "cannot be read",
    ],
  ])("is outcome tls when ca is %s", async (_, ca, reason) => {
    const endpoint = await httpEndpoint(undefined, await authority.issue({ names: ["127.0.0.1"] }));

    const result = await send(endpoint.url, ca);

    expect(result).toMatchObject({ outcome: "tls", code: "ERR_INVALID_CA" });
    expect(result.message).toContain(reason);
    expect(endpoint.connections()).toBe(0);
  });
});

describe("NODE_TLS_REJECT_UNAUTHORIZED=0", () => {
  it("changes nothing", async () => {
    const endpoint = await httpEndpoint(undefined, await selfSigned({ names: ["127.0.0.1"] }));
    const script = `
      import { createTransport } from ${JSON.stringify(new URL("../dist/transport/create-transport.js", import.meta.url))};
      const transport = createTransport();
      const request = { url: process.argv[1], headers: {}, body: Buffer.from("{}") };
      const { outcome, code } = await transport.send(request, { timeoutMs: 5000 });
      // That the variable is in force here: the same request by another client goes through.
      const bypassed = await fetch(process.argv[1], { method: "POST" }).then((response) => response.status);
      console.log(JSON.stringify({ outcome, code, bypassed }));
      await transport.close();
    `;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ["--input-type=module", "--eval", script, endpoint.url],
      { env: { ...process.env, NODE_TLS_REJECT_UNAUTHORIZED: "0" } },
    );

    expect(JSON.parse(stdout)).toEqual({
      outcome: "tls",
      code: "DEPTH_ZERO_SELF_SIGNED_CERT",
      bypassed: 204,
    });
    expect(endpoint.begun).toHaveLength(1);
  });
});
