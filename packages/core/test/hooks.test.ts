import { Buffer } from "node:buffer";
import {
  createReceiver,
  memoryDedupe,
  WebhookError,
  type DedupeStore,
  type ReceiverOptions,
  type WebhookRequest,
} from "@countersign/core";
import { mutations, sampleMessages, signedRequest } from "@countersign/core/testing";
import { describe, expect, it, vi, type Mock } from "vitest";
import { SECRET, webhookRequest, type AppRequest } from "./support/requests.ts";
import { nextWarning } from "./support/next-warning.ts";

type OnRejected = NonNullable<ReceiverOptions<AppRequest>["onRejected"]>;
type OnVerified = NonNullable<ReceiverOptions<AppRequest>["onVerified"]>;

/** A store that has seen nothing, and remembers how it was called. */
function spiedStore(): { [method in keyof DedupeStore]: Mock<DedupeStore[method]> } {
  return {
    claim: vi.fn<DedupeStore["claim"]>(() => "new"),
    commit: vi.fn<DedupeStore["commit"]>(),
    release: vi.fn<DedupeStore["release"]>(),
  };
}

const body = (message: object): Uint8Array => signedRequest(message as never, SECRET).body;

describe("onVerified", () => {
  it("gets the webhook and the framework's request of an accepted message", async () => {
    const onVerified = vi.fn<OnVerified>();
    const request = webhookRequest();
    const received = await createReceiver<AppRequest>({ secret: SECRET, onVerified }).receive(request);
    if (received.verdict !== "verified") throw new Error(received.verdict);
    expect(onVerified).toHaveBeenCalledExactlyOnceWith(received.webhook, request.request);
  });

  it("is awaited before the verdict", async () => {
    const steps: string[] = [];
    const onVerified = async (): Promise<void> => {
      await Promise.resolve();
      steps.push("hook");
    };
    await createReceiver({ secret: SECRET, onVerified }).receive(webhookRequest());
    steps.push("verdict");
    expect(steps).toEqual(["hook", "verdict"]);
  });

  it("does not run for a refused request or a repeat", async () => {
    const onVerified = vi.fn<OnVerified>();
    const receiver = createReceiver<AppRequest>({ secret: SECRET, onVerified, dedupe: memoryDedupe() });
    await receiver.receive(webhookRequest({ signedWith: "other" }));
    expect(onVerified).not.toHaveBeenCalled();
    const first = await receiver.receive(webhookRequest());
    if (first.verdict === "verified") await first.settle(200);
    await receiver.receive(webhookRequest());
    expect(onVerified).toHaveBeenCalledOnce();
  });

  it("fails the request by throwing, and lets the delivery come again", async () => {
    const onVerified = vi.fn<OnVerified>().mockRejectedValueOnce(new Error("log full"));
    const receiver = createReceiver<AppRequest>({ secret: SECRET, onVerified, dedupe: memoryDedupe() });
    await expect(receiver.receive(webhookRequest())).rejects.toThrow("log full");
    expect(await receiver.receive(webhookRequest())).toMatchObject({ verdict: "verified" });
  });
});

describe("onRejected", () => {
  async function rejection(
    request: WebhookRequest<AppRequest>,
    options: Partial<ReceiverOptions<AppRequest>> = {},
  ): Promise<Parameters<OnRejected>> {
    const onRejected = vi.fn<OnRejected>();
    const receiver = createReceiver<AppRequest>({ secret: SECRET, ...options, onRejected });
    const received = await receiver.receive(request);
    if (received.verdict !== "rejected") throw new Error(received.verdict);
    expect(onRejected).toHaveBeenCalledOnce();
    const [call] = onRejected.mock.calls;
    if (call === undefined) throw new Error("not called");
    expect(call[0]).toBe(received.error);
    return call;
  }

  it("gets the error and the request, and no body if none was read", async () => {
    const request = webhookRequest({ method: "GET" });
    const [error, rejected] = await rejection(request);
    expect(error).toBeInstanceOf(WebhookError);
    expect(error.code).toBe("ERR_METHOD_NOT_ALLOWED");
    expect(rejected).toEqual({ request: request.request, diagnoses: [] });
    expect(rejected.request).toBe(request.request);
  });

  it("gets the bytes received, which are not authenticated, or undefined if a parser kept only its value", async () => {
    const [error, rejected] = await rejection(webhookRequest({ message: '{"type":"purchase"}' }));
    expect(error.code).toBe("ERR_UNKNOWN_TYPE");
    expect(Buffer.from(rejected.receivedBody ?? []).toString()).toBe('{"type":"purchase"}');
    expect(rejected).not.toHaveProperty("rawBody");
    const parsed = webhookRequest({
      signedWith: "forger's",
      body: { from: "parsed", value: sampleMessages.track },
    });
    expect((await rejection(parsed))[1]).not.toHaveProperty("receivedBody");
  });

  it("gets parsed-before if a parser kept only a value that is not what was signed", async () => {
    // A string escape that JSON.stringify writes differently: the sender signed other bytes.
    const message = JSON.stringify(sampleMessages.track).replace("EUR", "\\u0045UR");
    const body = { from: "parsed", value: JSON.parse(message) as unknown } as const;
    const [error, { diagnoses }] = await rejection(webhookRequest({ message, body }));
    expect(error.code).toBe("ERR_SIGNATURE_MISMATCH");
    expect(diagnoses.map(({ code }) => code)).toEqual(["parsed-before"]);
    expect(error.hint).toMatch(
      /Compare the secrets first\..* mount verifyWebhook\(\) before the body parser/,
    );
    const [, other] = await rejection(webhookRequest({ message, body, signedWith: `${SECRET}\n` }));
    expect(other.diagnoses.map(({ code }) => code)).toEqual(["parsed-before"]);
  });

  it("gets the cause of a mismatch, also in the hint", async () => {
    const [error, { diagnoses }] = await rejection(webhookRequest({ signedWith: `${SECRET}\n` }));
    expect(error.code).toBe("ERR_SIGNATURE_MISMATCH");
    expect(diagnoses.map(({ code }) => code)).toEqual(["secret-white-space"]);
    expect(error.hint).toBe(diagnoses[0]?.message);
    expect(error.message).toBe("The X-Signature header does not match the body.");
  });

  it("gets the cause that a secret was retired, which is never accepted", async () => {
    const [error, { diagnoses }] = await rejection(webhookRequest({ signedWith: "last year's" }), {
      retiredSecrets: ["older", "last year's"],
    });
    expect(error.code).toBe("ERR_SIGNATURE_MISMATCH");
    expect(diagnoses.map(({ code }) => code)).toEqual(["retired-secret"]);
  });

  it("gets the form of a malformed signature", async () => {
    const { headers } = signedRequest(sampleMessages.track, SECRET);
    const prefixed = { "x-signature": `sha1=${headers["x-signature"]}` };
    const [error, { diagnoses }] = await rejection(webhookRequest({ headers: prefixed }));
    expect(error.code).toBe("ERR_SIGNATURE_MALFORMED");
    expect(diagnoses.map(({ code }) => code)).toEqual(["prefixed-signature"]);
  });

  it("gets the cause that only strict refuses a re-spaced body", async () => {
    const { headers, body: value } = mutations.reSpaced(signedRequest(sampleMessages.track, SECRET));
    const request = webhookRequest({ headers, body: { from: "raw", value } });
    const [, { diagnoses }] = await rejection(request, { strict: true });
    expect(diagnoses.map(({ code }) => code)).toEqual(["re-serialized"]);
  });

  it("gets no cause of a plain forgery, and a hint that says so", async () => {
    const [error, { diagnoses }] = await rejection(webhookRequest({ signedWith: "forger's" }));
    expect(diagnoses).toEqual([]);
    expect(error.hint).toMatch(/^None of the usual causes applies/);
  });

  it("runs for a repeat that arrives while the first is handled", async () => {
    const dedupe = memoryDedupe();
    await createReceiver({ secret: SECRET, dedupe }).receive(webhookRequest());
    const [error] = await rejection(webhookRequest(), { dedupe });
    expect(error.code).toBe("ERR_DUPLICATE_IN_FLIGHT");
  });

  it("makes no work for a forger's body where it is not set", async () => {
    const stringify = vi.spyOn(JSON, "stringify");
    const parse = vi.spyOn(JSON, "parse");
    const forged = webhookRequest({ signedWith: "forger's" });
    stringify.mockClear();
    await createReceiver({ secret: SECRET, strict: true }).receive(forged);
    // The problem document, and nothing of the body.
    expect(stringify).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({ code: "ERR_SIGNATURE_MISMATCH" }),
    );
    expect(parse).not.toHaveBeenCalled();
    stringify.mockRestore();
    parse.mockRestore();
  });

  it("fails the request by throwing", async () => {
    const onRejected = (): Promise<never> => Promise.reject(new Error("log full"));
    const receiver = createReceiver({ secret: SECRET, onRejected });
    await expect(receiver.receive(webhookRequest({ method: "GET" }))).rejects.toThrow("log full");
  });

  it("does not run for the app's own failures", async () => {
    const onRejected = vi.fn<OnRejected>();
    const failing = (): never => {
      throw new Error("database down");
    };
    const receiver = createReceiver<AppRequest>({ secret: failing, onRejected });
    await expect(receiver.receive(webhookRequest())).rejects.toThrow("database down");
    expect(onRejected).not.toHaveBeenCalled();
  });
});

describe("repeats", () => {
  const settled = async (
    receiver: ReturnType<typeof createReceiver<AppRequest>>,
    request: WebhookRequest<AppRequest>,
    status = 204,
  ): Promise<string> => {
    const received = await receiver.receive(request);
    if (received.verdict === "verified") await received.settle(status);
    return received.verdict === "rejected" ? received.error.code : received.verdict;
  };

  it("run the handler once: 503 while it runs, 200 afterwards", async () => {
    const receiver = createReceiver<AppRequest>({ secret: SECRET, dedupe: memoryDedupe() });
    const first = await receiver.receive(webhookRequest());
    if (first.verdict !== "verified") throw new Error(first.verdict);
    const during = await receiver.receive(webhookRequest());
    expect(during).toMatchObject({
      verdict: "rejected",
      error: { code: "ERR_DUPLICATE_IN_FLIGHT", status: 503 },
    });
    await first.settle(200);
    expect(await receiver.receive(webhookRequest())).toMatchObject({
      verdict: "duplicate",
      webhook: { message: sampleMessages.track },
    });
  });

  it.each([200, 202, 204, 299])("are answered 200 after the app answered %i", async (status) => {
    const receiver = createReceiver<AppRequest>({ secret: SECRET, dedupe: memoryDedupe() });
    expect(await settled(receiver, webhookRequest(), status)).toBe("verified");
    expect(await settled(receiver, webhookRequest())).toBe("duplicate");
  });

  it.each([199, 302, 404, 500, 503])("run the handler again after the app answered %i", async (status) => {
    const receiver = createReceiver<AppRequest>({ secret: SECRET, dedupe: memoryDedupe() });
    expect(await settled(receiver, webhookRequest(), status)).toBe("verified");
    expect(await settled(receiver, webhookRequest())).toBe("verified");
  });

  it("are free again before the failure of a hook is answered: the sender may repeat at once", async () => {
    const dedupe = spiedStore();
    let isReleased = false;
    dedupe.release.mockImplementation(async () => {
      await new Promise((resolve) => setImmediate(resolve));
      isReleased = true;
    });
    const onVerified = (): Promise<never> => Promise.reject(new Error("log down"));
    const receiver = createReceiver<AppRequest>({ secret: SECRET, dedupe, onVerified });
    await expect(receiver.receive(webhookRequest())).rejects.toThrow("log down");
    expect(isReleased).toBe(true);
  });

  it("claim a key only if they are verified and well formed", async () => {
    const dedupe = spiedStore();
    const receiver = createReceiver<AppRequest>({ secret: SECRET, dedupe });
    await receiver.receive(webhookRequest({ signedWith: "forger's" }));
    await receiver.receive(webhookRequest({ message: '{"type":"purchase"}' }));
    expect(dedupe.claim).not.toHaveBeenCalled();
    expect(await settled(receiver, webhookRequest())).toBe("verified");
    const [key = ""] = dedupe.claim.mock.calls[0] ?? [];
    expect(dedupe.claim).toHaveBeenCalledOnce();
    expect(dedupe.commit).toHaveBeenCalledExactlyOnceWith(key);
    expect(dedupe.release).not.toHaveBeenCalled();
  });

  it("are recognised by messageId and content, even if a client that sends its queue again sets other fields again", async () => {
    const receiver = createReceiver<AppRequest>({ secret: SECRET, dedupe: memoryDedupe() });
    const at = "2026-11-20T20:00:00.000Z";
    const resent = {
      ...sampleMessages.track,
      timestamp: at,
      receivedAt: at,
      sentAt: at,
      originalTimestamp: at,
      version: 2,
      context: { ip: "198.51.100.1" },
      integrations: { All: true },
    };
    expect(await settled(receiver, webhookRequest())).toBe("verified");
    expect(await settled(receiver, webhookRequest({ message: resent }))).toBe("duplicate");
  });

  it.each<[name: string, message: object]>([
    ["another messageId", { ...sampleMessages.track, messageId: "other" }],
    ["another event", { ...sampleMessages.track, event: "Order Refunded" }],
    ["other properties", { ...sampleMessages.track, properties: { total: 1 } }],
    ["another user", { ...sampleMessages.track, userId: "u-2" }],
    ["a field more", { ...sampleMessages.track, channel: "web" }],
    ["another type", { ...sampleMessages.identify, messageId: sampleMessages.track.messageId }],
  ])("are not what has a used messageId and %s: that message would be lost", async (_case, message) => {
    const receiver = createReceiver<AppRequest>({ secret: SECRET, dedupe: memoryDedupe() });
    expect(await settled(receiver, webhookRequest())).toBe("verified");
    const other = webhookRequest({ message: message as Record<string, unknown> });
    expect(await settled(receiver, other)).toBe("verified");
  });

  it.each([
    ["none", undefined],
    ["an empty one", ""],
    ["null", null],
  ])("are known by their text where messageId is %s, never by a signature", async (_case, messageId) => {
    const receiver = createReceiver<AppRequest>({ secret: SECRET, dedupe: memoryDedupe() });
    const message = { ...sampleMessages.delete, messageId };
    const { headers } = mutations.upperCase(signedRequest(message, SECRET));
    expect(await settled(receiver, webhookRequest({ message }))).toBe("verified");
    expect(await settled(receiver, webhookRequest({ message, headers }))).toBe("duplicate");
    // Nothing but the text tells that a message was sent twice: one that differs in its time alone would be lost.
    for (const other of [{ userId: "u-2" }, { timestamp: "2026-11-20T20:00:01.000Z" }]) {
      expect(await settled(receiver, webhookRequest({ message: { ...message, ...other } }))).toBe("verified");
    }
  });

  it("are recognised by their text if messages are accepted unsigned", async () => {
    const receiver = createReceiver<AppRequest>({ unsigned: true, dedupe: memoryDedupe() });
    const message = sampleMessages.delete;
    const unsigned = (message: object): WebhookRequest<AppRequest> =>
      webhookRequest({ headers: { "x-signature": undefined }, body: { from: "raw", value: body(message) } });
    expect(await settled(receiver, unsigned(message))).toBe("verified");
    expect(await settled(receiver, unsigned(message))).toBe("duplicate");
    expect(await settled(receiver, unsigned({ ...message, userId: "u-2" }))).toBe("verified");
  });

  it("have short keys, however long the messageId", async () => {
    const { claim, ...rest } = spiedStore();
    const receiver = createReceiver({ secret: SECRET, dedupe: { claim, ...rest } });
    for (const end of ["a", "b"]) {
      await receiver.receive(
        webhookRequest({ message: { ...sampleMessages.track, messageId: "x".repeat(9_000) + end } }),
      );
    }
    const keys = claim.mock.calls.map(([key]) => key);
    expect(keys).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/), expect.stringMatching(/^[0-9a-f]{64}$/)]);
    expect(new Set(keys).size).toBe(2);
  });

  it("have a key even where the message is nested too deep to be written", async () => {
    const deep = `${"[".repeat(400_000)}${"]".repeat(400_000)}`;
    const message = `{"type":"delete","messageId":"m-1","userId":"u-1","traits":{"a":${deep}}}`;
    const receiver = createReceiver<AppRequest>({ unsigned: true, dedupe: memoryDedupe() });
    const request = webhookRequest({ body: { from: "raw", value: message } });
    expect(await settled(receiver, request)).toBe("verified");
    expect(await settled(receiver, request)).toBe("duplicate");
  });

  it("have keys of separate kinds: an id cannot be mistaken for a text or a tenant", async () => {
    const { claim, ...rest } = spiedStore();
    const keyOf = async (
      options: ReceiverOptions<AppRequest>,
      parts: Parameters<typeof webhookRequest>[0],
    ): Promise<string> => {
      claim.mockClear();
      await createReceiver<AppRequest>({ ...options, dedupe: { claim, ...rest } }).receive(
        webhookRequest(parts),
      );
      return claim.mock.calls[0]?.[0] ?? "";
    };
    const text = JSON.stringify(sampleMessages.delete);
    const idOfAnother = await keyOf({ secret: SECRET }, { message: text });
    const keys = [
      idOfAnother,
      await keyOf({ secret: SECRET }, { message: { ...sampleMessages.delete, messageId: idOfAnother } }),
      await keyOf({ secret: SECRET }, { message: { ...sampleMessages.delete, messageId: text } }),
      await keyOf({ secret: () => SECRET }, { message: text }),
      // A secret that is also the key of what has none.
      await keyOf({ secret: () => "dedupe" }, { message: text, signedWith: "dedupe" }),
      await keyOf({ secret: () => ({ secret: SECRET, tenant: "none" }) }, { message: text }),
      await keyOf({ secret: () => ({ secret: SECRET, tenant: SECRET }) }, { message: text }),
    ];
    expect(new Set(keys).size).toBe(keys.length);
  });

  it("of one tenant do not hide another's, though they share the store and the messageId", async () => {
    const receiver = createReceiver<AppRequest>({
      secret: ({ tenant }) => `${tenant}'s`,
      dedupe: memoryDedupe(),
    });
    const of = (tenant: string): WebhookRequest<AppRequest> =>
      webhookRequest({ tenant, signedWith: `${tenant}'s` });
    expect(await settled(receiver, of("acme"))).toBe("verified");
    expect(await settled(receiver, of("globex"))).toBe("verified");
    expect(await settled(receiver, of("acme"))).toBe("duplicate");
  });

  it("of a named tenant are still known after its secret was rotated", async () => {
    let current: string | string[] = "old";
    const receiver = createReceiver<AppRequest>({
      secret: ({ tenant }) => ({ secret: current, tenant }),
      dedupe: memoryDedupe(),
    });
    expect(await settled(receiver, webhookRequest({ signedWith: "old" }))).toBe("verified");
    current = ["new", "old"];
    expect(await settled(receiver, webhookRequest({ signedWith: "new" }))).toBe("duplicate");
    expect(await settled(receiver, webhookRequest({ signedWith: "new", tenant: "globex" }))).toBe("verified");
  });

  it("are still known after the secret was rotated in a list", async () => {
    const receiver = createReceiver<AppRequest>({ secret: ["new", "old"], dedupe: memoryDedupe() });
    expect(await settled(receiver, webhookRequest({ signedWith: "old" }))).toBe("verified");
    expect(await settled(receiver, webhookRequest({ signedWith: "new" }))).toBe("duplicate");
  });

  it("fail the request if the store's claim is not one of the three", async () => {
    const dedupe = { ...spiedStore(), claim: () => true } as unknown as DedupeStore;
    const receiver = createReceiver({ secret: SECRET, dedupe });
    await expect(receiver.receive(webhookRequest())).rejects.toThrow(
      'claim() must return "new", "in-flight" or "done", but returned true',
    );
  });

  it("fail the request if the store fails to claim", async () => {
    const dedupe = spiedStore();
    dedupe.claim.mockRejectedValue(new Error("store down"));
    const receiver = createReceiver({ secret: SECRET, dedupe });
    await expect(receiver.receive(webhookRequest())).rejects.toThrow("store down");
  });

  it("do not fail an answered webhook if the store fails to commit: a process warning tells", async () => {
    const warning = nextWarning("COUNTERSIGN_DEDUPE");
    const dedupe = spiedStore();
    dedupe.commit.mockRejectedValue(new Error("store down"));
    const receiver = createReceiver<AppRequest>({ secret: SECRET, dedupe });
    expect(await settled(receiver, webhookRequest())).toBe("verified");
    expect((await warning).message).toContain("store down");
  });
});
