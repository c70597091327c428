import type { Attempt } from "@countersign/sender";
import { describe, expect, it, vi } from "vitest";
import { openSender } from "./support/open-sender.ts";
import { startReceiver, type Receiver } from "./support/receiver.ts";

const SECRET = "correct horse battery staple";
const STATIC = { Authorization: "Bearer canary-of-the-endpoint", "X-Team": "data" };

/** The attempt of one message, and what the receiver saw of it. */
async function attemptAt(
  receiver: Receiver,
  { headers, fault }: { headers?: Record<string, string>; fault?: "bad_signature" } = {},
): Promise<Attempt> {
  const sender = await openSender({ url: receiver.url, secret: SECRET, headers });
  const attempts: Attempt[] = [];
  sender.on("attempt", ({ attempt }) => attempts.push(attempt));
  if (fault !== undefined) sender.inject(fault);
  await (await sender.track({ userId: "u1", event: "A" })).settled();
  return attempts[0] as Attempt;
}

describe("an attempt keeps the headers", () => {
  it("that were sent, with the signature that the receiver saw, so that a difference is found later", async () => {
    const receiver = await startReceiver();
    const attempt = await attemptAt(receiver);
    expect(attempt.requestHeaders).toEqual({
      "User-Agent": "Countersign/1.0",
      "Content-Type": "application/json",
      "X-Signature": receiver.received[0]?.headers["x-signature"],
    });
  });

  it("with a forged signature where a fault forged it", async () => {
    const receiver = await startReceiver(() => ({ status: 401 }));
    const attempt = await attemptAt(receiver, { fault: "bad_signature" });
    expect(attempt).toMatchObject({ fault: "bad_signature", outcome: "rejected" });
    expect(attempt.requestHeaders?.["X-Signature"]).toBe(receiver.received[0]?.headers["x-signature"]);
  });

  it("of the response, several of one name in one", async () => {
    const receiver = await startReceiver(() => ({
      status: 200,
      headers: { "X-Request-Id": "r1", "Set-Cookie": ["a=1", "b=2"] as never },
    }));
    expect((await attemptAt(receiver)).responseHeaders).toMatchObject({
      "x-request-id": "r1",
      "set-cookie": "a=1, b=2",
    });
  });

  it("of up to 8 KiB each way, and leaves out the one that does not fit", async () => {
    const large = "x".repeat(8_000);
    const receiver = await startReceiver(() => ({
      status: 200,
      headers: { "X-First": large, "X-Second": large.slice(0, 4_000), "X-Last": "kept" },
    }));
    const { responseHeaders = {} } = await attemptAt(receiver);
    expect(responseHeaders).toMatchObject({ "x-first": large, "x-last": "kept" });
    expect(Object.keys(responseHeaders)).not.toContain("x-second");
  });

  it("that were sent to an endpoint that never answered, too", async () => {
    const receiver = await startReceiver(() => "never");
    const sender = await openSender({ url: receiver.url, secret: SECRET, attemptTimeout: "200ms" });
    // Where other work holds the process up, the time may be over before the receiver has read the request.
    await vi.waitFor(async () => {
      const receipt = await sender.track({ userId: "u1", event: "A" });
      const [attempt] = await sender.expect(receipt).attempts(1);
      expect(attempt).toMatchObject({ outcome: "timeout" });
      const received = receiver.received.find(({ message }) => message["messageId"] === receipt.messageId);
      expect(received).toBeDefined();
      expect(attempt?.requestHeaders?.["X-Signature"]).toBe(received?.headers["x-signature"]);
    });
  });

  it("and none where no request was sent", async () => {
    const receiver = await startReceiver();
    await receiver.close();
    const sender = await openSender({ url: receiver.url, secret: SECRET });
    const [attempt] = await sender.expect(await sender.track({ userId: "u1", event: "A" })).attempts(1);
    expect(attempt).toMatchObject({ outcome: "network" });
    expect(attempt?.requestHeaders).toBeUndefined();
    expect(attempt?.responseHeaders).toBeUndefined();
  });
});

describe("credentials are hidden before an attempt is kept or told", () => {
  it("in the static headers that were sent, and wherever the endpoint sends them back", async () => {
    const receiver = await startReceiver(({ headers }) => ({
      status: 307,
      headers: { "X-Echo": String(headers["authorization"]), Location: `/?key=${SECRET}` },
      body: `you sent ${String(headers["authorization"])} and ${SECRET}`,
    }));
    const attempt = await attemptAt(receiver, { headers: STATIC });
    expect(receiver.received[0]?.headers["authorization"]).toBe(STATIC.Authorization);
    expect(attempt.requestHeaders).toMatchObject({ Authorization: "(hidden)", "X-Team": "(hidden)" });
    expect(attempt.responseHeaders).toMatchObject({ "x-echo": "Bearer (hidden)" });
    expect(attempt.response).toMatch(/^you sent Bearer \(hidden\) and \(hidden\)/u);
    expect(JSON.stringify(attempt)).not.toContain("canary");
    expect(JSON.stringify(attempt)).not.toContain("horse");
  });

  // Without a static header, what was sent needs no hiding: only what came back decides.
  it.each<[string, object, Partial<Attempt>]>([
    ["in a body", { body: `not ${SECRET}` }, { response: "not (hidden)" }],
    [
      "in a header",
      { headers: { "X-Echo": `not ${SECRET}` } },
      { responseHeaders: { "x-echo": "not (hidden)" } },
    ],
    [
      "in an address",
      { status: 302, headers: { Location: `/?key=${SECRET}` } },
      { message: "answered 302 to /?key=(hidden); redirects are not followed" },
    ],
    [
      "by its start, at the end of a body that was cut",
      { body: `${"x".repeat(16_384 - 4)}${SECRET}` },
      { response: `${"x".repeat(16_384 - 4)}(hidden)` },
    ],
  ])("where a destination has a secret only, and it comes back %s", async (_where, answer, shown) => {
    const receiver = await startReceiver(() => ({ status: 200, ...answer }));
    const attempt = await attemptAt(receiver);
    expect(attempt).toMatchObject(shown);
    expect(JSON.stringify(attempt)).not.toContain(SECRET);
  });

  it("where one static header was sent, and nothing comes back", async () => {
    const receiver = await startReceiver();
    const attempt = await attemptAt(receiver, { headers: { Authorization: STATIC.Authorization } });
    expect(attempt.requestHeaders?.["Authorization"]).toBe("(hidden)");
    expect(JSON.stringify(attempt)).not.toContain("canary");
  });

  it.each<[string, string, string, string]>([
    ["whose start is the secret", "webhooks", "Bearer webhooks-canary", "Bearer (hidden)"],
    ["of long and short words", "wonderful canary", "Bearer token-of-the-endpoint", "(hidden)"],
  ])("as a whole: one %s", async (_kind, secret, token, shown) => {
    const echoed = shown.startsWith("Bearer") ? token : secret;
    const receiver = await startReceiver(() => ({ status: 400, body: echoed }));
    const sender = await openSender({ url: receiver.url, secret, headers: { Authorization: token } });
    const [delivery] = await (await sender.track({ userId: "u1", event: "A" })).settled();
    expect(delivery?.attempts[0]?.response).toBe(shown);
  });

  it("with the settings that the attempt was made with, not those of whoever looks later", async () => {
    const receiver = await startReceiver(({ headers }) => ({
      status: 200,
      body: String(headers["authorization"]),
    }));
    const sender = await openSender({ url: receiver.url, secret: SECRET, headers: STATIC });
    const [before] = await (await sender.track({ userId: "u1", event: "A" })).settled();
    sender.configure({
      sources: [{ name: "default", destinations: [{ endpoints: [{ url: receiver.url }] }] }],
    });
    const after = await sender.delivery(before?.id ?? "");
    expect(after?.attempts[0]?.response).toBe("Bearer (hidden)");
  });
});
