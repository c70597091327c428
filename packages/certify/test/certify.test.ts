import { createServer } from "node:http";
import {
  audits,
  certify,
  createProbe,
  ReceiverUnreachableError,
  type AuditResult,
  type CertifyOptions,
  type Report,
} from "@countersign/certify";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { freePort } from "../../../tests/support/free-port.ts";
import { handWrittenReceiver } from "./support/hand-written-receiver.ts";
import { listen, SECRET, serve } from "./support/listen.ts";

const NOWHERE = { url: "http://127.0.0.1:9/webhooks", secret: SECRET };

describe("the options", () => {
  it.each([
    [{ url: "localhost:3000" }, "The url must start with http:// or https://"],
    [{ url: "/webhooks" }, "The url is not an absolute URL"],
    [{ url: "ftp://example.com/" }, "The url must start with http:// or https://"],
    [{ url: "http://user:pass@example.com/" }, "The url contains a user name or a password"],
    [{ secret: " \n" }, "The secret must be the receiver's secret, a non-empty string"],
    [{ secret: "" }, "The secret must be the receiver's secret, a non-empty string"],
    [{ headers: { "x-signature": "0" } }, "The header x-signature is set by the audits themselves"],
    [{ headers: { "Content-Length": "1" } }, "The header Content-Length is set by the audits themselves"],
    [{ headers: { "not a name": "1" } }, "not a name"],
    [{ headers: { "X-Tenant": "a\r\nb" } }, "X-Tenant"],
    [
      { ca: "-----BEGIN CERTIFICATE-----\nnone\n-----END CERTIFICATE-----" },
      "ca must hold certificates in PEM",
    ],
    [{ timeout: 5 }, 'certify(): unknown option "timeout": it is called timeoutMs here, in milliseconds.'],
    [{ deadline: 5 }, "it is called deadlineMs here"],
    [{ sharedSecret: "s" }, "it is called secret here"],
    [{ secrt: "s" }, 'unknown option "secrt"; did you mean "secret"?'],
    [{ headers: "X-Tenant: acme" }, "headers must be an object of names and values"],
    [{ headers: { "X-Tenant": 5 } }, "The header X-Tenant must be a string, not a number"],
    [{ ca: 5 }, "ca must hold certificates in PEM"],
    [{ language: "cobol" }, 'Unknown language "cobol". Known languages: node, python, java, php, go, ruby.'],
    [{ signal: {} }, "certify({ signal }) must be an object with throwIfAborted(), addEventListener()"],
    [{ onResult: console }, "certify({ onResult }) must be a function"],
    [{ only: "accepts-track" }, "only must be a list of audits"],
    [{ timeoutMs: "5s" }, 'timeoutMs must be a positive number of milliseconds, but got "5s"'],
    [{ timeoutMs: 0 }, "timeoutMs must be a positive number"],
    [{ timeoutMs: Number.NaN }, "timeoutMs must be a positive number"],
    [{ deadlineMs: -1 }, "deadlineMs must be a positive number"],
    [{ only: [] }, "only is empty"],
  ])("%j is refused with a TypeError that says why", async (wrong, message) => {
    const options = { ...NOWHERE, ...wrong } as unknown as CertifyOptions;
    const refusal: unknown = await certify(options).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(TypeError);
    expect(String(refusal)).toContain(message);
  });

  it("keep audits from an address that may not be called, as one that answers with credentials", async () => {
    let received = 0;
    const receiver = await serve((_, response) => {
      received += 1;
      response.end();
    });
    onTestFinished(() => receiver.close());
    const { port } = new URL(receiver.url);
    const refuse = (host: string, address: string): void => {
      throw new Error(`${host} is ${address}, which is refused`);
    };
    const only = ["accepts-track", "survives-garbage"];
    const audit = (host: string, checkAddress: CertifyOptions["checkAddress"]): Promise<Report> =>
      certify({ url: `http://${host}:${port}/`, secret: SECRET, only, checkAddress });
    await expect(audit("127.0.0.1", refuse)).rejects.toThrow("127.0.0.1 is 127.0.0.1, which is refused");
    await expect(audit("localhost", refuse)).rejects.toThrow(
      /localhost is (127\.0\.0\.1|::1), which is refused/,
    );
    // The name resolves to another address once the first connection, with which nothing is sent, was made.
    let hasMoved = false;
    const { results } = await audit("localhost", (host, address) => {
      if (hasMoved) refuse(host, address);
      setImmediate(() => (hasMoved = true));
    });
    expect(results).toMatchObject([{ outcome: "failed" }, { outcome: "skipped" }]);
    expect(received).toBe(0);
  });

  it.each([
    ["accept-track", "accepts-track"],
    ["rejects-tamperd-body", "rejects-tampered-body"],
    ["sha256", "rejects-sha256-signature"],
    ["Accepts-Chunked", "accepts-chunked-body"],
  ])("an unknown audit %s makes it propose %s", async (unknown, proposed) => {
    await expect(certify({ ...NOWHERE, only: ["accepts-page", unknown] })).rejects.toThrow(
      new RegExp(`^Unknown audit "${unknown}"\\. Did you mean .*${proposed}.*\\?$`),
    );
  });

  it("an unknown audit that many have in their name makes it propose three", async () => {
    await expect(certify({ ...NOWHERE, only: ["accepts"] })).rejects.toThrow(
      /^Unknown audit "accepts"\. Did you mean accepts-[\w-]+ or accepts-[\w-]+ or accepts-[\w-]+\?$/,
    );
  });

  it("are refused by createProbe too", () => {
    expect(() => createProbe({ url: "nowhere", secret: SECRET })).toThrow(TypeError);
    const misnamed = { ...NOWHERE, timeout: 5 };
    expect(() => createProbe(misnamed)).toThrow(
      'createProbe(): unknown option "timeout": it is called timeoutMs here, in milliseconds.',
    );
  });
});

describe("certify", () => {
  it("says immediately that the receiver is unreachable, and runs no audit", async () => {
    const url = `http://127.0.0.1:${await freePort()}/webhooks`;
    const onResult = vi.fn<(result: AuditResult) => void>();
    const refusal: unknown = await certify({ url, secret: SECRET, onResult }).catch(
      (error: unknown) => error,
    );
    expect(refusal).toBeInstanceOf(ReceiverUnreachableError);
    expect(refusal).toMatchObject({ code: "ERR_RECEIVER_UNREACHABLE" });
    expect(String(refusal)).toMatch(
      /Cannot connect to http:\/\/127\.0\.0\.1:\d+\/webhooks: connect ECONNREFUSED .*\. Start the receiver/,
    );
    expect(onResult).not.toHaveBeenCalled();
  });

  it("says in words that the receiver speaks no TLS, in place of a line of OpenSSL's", async () => {
    const receiver = await handWrittenReceiver();
    const url = receiver.url.replace("http:", "https:");
    const refusal: unknown = await certify({ url, secret: SECRET }).catch((error: unknown) => error);
    await receiver.close();
    expect(String(refusal)).toMatch(
      /: ERR_SSL_[A-Z_]+: the TLS handshake failed: [a-z ]+\. Start the receiver/,
    );
  });

  it("runs the audits named by only, in the order of the table, and reports each result immediately", async () => {
    const receiver = await handWrittenReceiver();
    const told: AuditResult[] = [];
    const only = ["leaks-no-digest", "answers-401-to-forgeries", "accepts-page"];
    const report = await certify({
      url: receiver.url,
      secret: SECRET,
      only,
      onResult: (result) => told.push(result),
    });
    await receiver.close();
    expect(report.results.map(({ id }) => id)).toEqual(only.toReversed());
    expect(told).toEqual(report.results);
    expect(report).toMatchObject({
      url: receiver.url,
      passed: true,
      tally: { MUST: { passed: 2, failed: 0, skipped: 0 }, SHOULD: { passed: 1, failed: 0, skipped: 0 } },
    });
    expect(JSON.parse(JSON.stringify(report))).toEqual(report);
  });

  it("sends the static headers, and no two messages with the same id", async () => {
    const tenants = new Set<unknown>();
    const ids: unknown[] = [];
    const receiver = await handWrittenReceiver({
      reply({ request, json }) {
        tenants.add(request.headers["x-tenant"]);
        ids.push((json as { messageId?: unknown } | undefined)?.messageId);
        return undefined;
      },
    });
    const only = audits
      .map(({ id }) => id)
      .filter((id) => id.startsWith("accepts-") && id !== "accepts-redelivery");
    await certify({ url: receiver.url, secret: SECRET, headers: { "X-Tenant": "acme" }, only });
    await receiver.close();
    expect([...tenants]).toEqual(["acme"]);
    const known = ids.filter((id) => id !== undefined);
    expect(known.length).toBeGreaterThan(40);
    expect(new Set(known).size).toBe(known.length);
  });

  it("says what was sent, what came back and what to do, and keeps the secret to itself", async () => {
    const receiver = await handWrittenReceiver({
      reply: () => ({ status: 200, body: `my secret is ${SECRET}` }),
    });
    const report = await certify({
      url: `${receiver.url}?key=k`,
      secret: SECRET,
      only: ["rejects-missing-signature", "leaks-no-digest"],
    });
    await receiver.close();
    expect(report.results).toMatchObject([
      {
        outcome: "failed",
        failure: {
          sent: expect.stringMatching(
            /^POST \/webhooks with a track message \(\d+ bytes, X-Signature: absent\)$/,
          ),
          cause: "accepted it with 200",
          expected: "4xx: a final rejection, so that the message is not sent again",
          received: expect.stringMatching(/^200 OK after \d+ ms, body: my secret is \[masked\]$/),
          fix: "Reject a request without X-Signature before any other code reads it.",
        },
      },
      { outcome: "failed", failure: { expected: expect.stringContaining("without the secret") } },
    ]);
    expect(JSON.stringify(report)).not.toContain(SECRET);
    expect(report.url).toBe(receiver.url);
  });

  it.each([
    ["in hex", (text: string, sign: (body: string) => string) => sign(text)],
    [
      "in base64",
      (text: string, sign: (body: string) => string) => Buffer.from(sign(text), "hex").toString("base64"),
    ],
  ])("finds a digest %s in an answer, and masks it", async (_, leak) => {
    const { sign } = createProbe(NOWHERE);
    const receiver = await handWrittenReceiver({
      reply: ({ text }, { status }) =>
        status === 401 ? { status, body: `expected ${leak(text, sign)}` } : undefined,
    });
    const report = await certify({ url: receiver.url, secret: SECRET, only: ["leaks-no-digest"] });
    await receiver.close();
    expect(report.results).toMatchObject([
      { outcome: "failed", failure: { received: expect.stringMatching(/body: expected \[masked\]$/) } },
    ]);
  });

  it.each([
    ["in upper case", (digest: string) => ({ body: digest.toUpperCase() }), /body: \[masked\]$/],
    ["as the reason phrase", (reason: string) => ({ reason }), /^401 \[masked\] after \d+ ms, no body$/],
  ])("shows no digest that the receiver has written %s", async (_, told, received) => {
    const receiver = await listen(
      createServer((request, response) => {
        request.toArray().then(
          (chunks: Buffer[]) => {
            const { reason, body } = {
              reason: "No",
              body: "",
              ...told(probe.sign(Buffer.concat(chunks).toString())),
            };
            response.writeHead(401, reason).end(body);
          },
          () => response.destroy(),
        );
      }),
    );
    const probe = createProbe({ url: receiver.url, secret: SECRET });
    const exchange = await probe.send({ what: "an unsigned body", body: "{}", signature: null });
    await receiver.close();
    expect(probe.leak).toBe(exchange);
    expect(exchange.received).toMatch(received);
  });

  it("finds the digest of a body written again", async () => {
    const receiver = await handWrittenReceiver({
      reply: () => ({ status: 401, body: probe.sign('{"a":1}') }),
    });
    const probe = createProbe({ url: receiver.url, secret: SECRET });
    await probe.send({ what: "a body with white space", body: '{ "a": 1 }', signature: null });
    await receiver.close();
    expect(probe.leak).toMatchObject({ sent: expect.stringContaining("a body with white space") });
  });

  it("takes a digest that the request itself carried for no leak", async () => {
    const receiver = await handWrittenReceiver({
      reply: ({ signature }, { status }) =>
        status === 204 ? { status: 200, body: signature ?? "" } : undefined,
    });
    const report = await certify({
      url: receiver.url,
      secret: SECRET,
      only: ["accepts-page", "leaks-no-digest"],
    });
    await receiver.close();
    expect(report.passed).toBe(true);
  });

  it("rejects with the reason of its signal, and sends no more requests", async () => {
    let requests = 0;
    const abort = new AbortController();
    const receiver = await listen(
      createServer(() => {
        requests += 1;
        abort.abort(new Error("enough"));
      }),
    );
    const onResult = vi.fn<(result: AuditResult) => void>();
    const audited = certify({ url: receiver.url, secret: SECRET, signal: abort.signal, onResult });
    await expect(audited).rejects.toThrow("enough");
    await receiver.close();
    expect(requests).toBe(1);
    expect(onResult).not.toHaveBeenCalled();
  });

  it.each([
    ["forward", 3_600_000],
    ["back", -3_600_000],
  ])("measures its deadline and its duration by no clock that may be set: %s", async (_, by) => {
    const receiver = await handWrittenReceiver();
    const { now } = Date;
    const clock = vi.spyOn(Date, "now");
    const report = await certify({
      url: receiver.url,
      secret: SECRET,
      only: ["accepts-page", "accepts-split-body"],
      onResult: () => clock.mockImplementation(() => now() + by),
    }).finally(() => clock.mockRestore());
    await receiver.close();
    expect(report.results).toMatchObject([{ outcome: "passed" }, { outcome: "passed" }]);
    expect(report.durationMs).toBeGreaterThanOrEqual(0);
    expect(report.durationMs).toBeLessThan(3_600_000);
  });

  it("stops at its deadline, and reports the audits that it has not run", async () => {
    const receiver = await handWrittenReceiver();
    const report = await certify({
      url: receiver.url,
      secret: SECRET,
      deadlineMs: 0.001,
      only: ["accepts-page", "accepts-expect-continue", "accepts-split-body", "accepts-track"],
    });
    await receiver.close();
    const skipped = report.results.filter(({ outcome }) => outcome === "skipped");
    expect(skipped.length).toBeGreaterThan(0);
    expect(report.results[0]).toMatchObject({ outcome: "passed" });
    expect(report.passed).toBe(false);
  });
});

describe("a receiver that stops answering", () => {
  it("gets no more requests: the remaining audits are skipped, and the audit that stopped it is named", async () => {
    const receiver = await handWrittenReceiver({
      setUp: (server) => server.on("connection", (socket) => socket.on("error", () => undefined)),
      async reply({ signature }) {
        if (signature !== "null") return undefined;
        void receiver.close();
        return { status: 0 };
      },
    });
    const report = await certify({ url: receiver.url, secret: SECRET, timeoutMs: 6_000 });
    const stopped = report.results.findIndex(({ id }) => id === "rejects-malformed-signature");
    expect(report.results.slice(0, stopped).every(({ outcome }) => outcome === "passed")).toBe(true);
    expect(report.results[stopped]).toMatchObject({
      failure: { received: expect.stringMatching(/^no answer: /) },
    });
    for (const result of report.results.slice(stopped + 1)) {
      expect(result).toMatchObject({
        outcome: "skipped",
        reason: "the receiver has not answered since rejects-malformed-signature",
      });
    }
    expect(report.passed).toBe(false);
  });

  it("is told once, too, when a proxy in front of it answers in its place", async () => {
    let isGone = false;
    const receiver = await handWrittenReceiver({
      reply({ signature }) {
        isGone ||= signature === "null";
        return isGone ? { status: 502 } : undefined;
      },
    });
    const report = await certify({ url: receiver.url, secret: SECRET, timeoutMs: 6_000 });
    await receiver.close();
    const failed = report.results.filter(({ outcome }) => outcome === "failed");
    expect(failed.map(({ id }) => id)).toEqual(["rejects-malformed-signature"]);
    expect(report.results.at(-1)).toMatchObject({
      reason: "the receiver has not answered since rejects-malformed-signature",
    });
  });

  it.each([
    [
      "is told once when it limits the rate of requests from the 20th on: each audit that was left failed",
      19,
      Infinity,
    ],
    ["is audited on when its limit of the rate is over with the next request", 19, 20],
  ])("%s", async (_name, from, to) => {
    let requests = 0;
    const receiver = await handWrittenReceiver({
      reply() {
        requests += 1;
        return requests > from && requests <= to ? { status: 429 } : undefined;
      },
    });
    const { results } = await certify({
      url: receiver.url,
      secret: SECRET,
      timeoutMs: 2_000,
      concurrency: 1,
    });
    await receiver.close();
    const failed = results.flatMap((result) => (result.outcome === "failed" ? [result] : []));
    expect(failed).toMatchObject([{ failure: { fix: expect.stringContaining("limits its rate") } }]);
    const reasons = new Set(
      results.flatMap((result) => (result.outcome === "skipped" ? [result.reason] : [])),
    );
    const limited = `the receiver has limited its rate (429) since ${failed[0]?.id}`;
    expect([...reasons]).toEqual(to === Infinity ? [limited] : []);
  });

  it("is audited on when a supervisor starts it again", async () => {
    const started: { close(): Promise<void> }[] = [];
    const restarted = vi.fn<(url: string) => Promise<void>>();
    const receiver = await handWrittenReceiver({
      port: await freePort(),
      async reply({ signature }) {
        if (signature !== "null" || restarted.mock.calls.length > 0) return undefined;
        restarted.mockImplementation(async (url) => {
          const server = createServer((_, response) => response.writeHead(204).end());
          server.listen(Number(new URL(url).port), "127.0.0.1");
          started.push({ close: async () => void server.close() });
        });
        void receiver.close().then(() => restarted(receiver.url));
        return { status: 0 };
      },
    });
    const only = ["rejects-malformed-signature", "survives-garbage"];
    const report = await certify({ url: receiver.url, secret: SECRET, only, timeoutMs: 6_000 });
    for (const server of started) await server.close();
    expect(restarted).toHaveBeenCalledOnce();
    expect(report.results.map(({ outcome }) => outcome)).toEqual(["failed", "passed"]);
  });
});
