import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { runInNewContext } from "node:vm";
import { Analytics, ValidationError, type BeforeSend, type Message } from "@countersign/client";
import { describe, expect, it } from "vitest";
import { createBench, type Bench } from "./support/bench.ts";

const USER_ID = "u1";
const MISREAD_KEYS = new URL("../../../tests/support/misread-keys.mjs", import.meta.url).href;

function createScreened(beforeSend: unknown): Bench & { readonly told: string[] } {
  const told: string[] = [];
  const bench = createBench({
    beforeSend: beforeSend as BeforeSend,
    onDrop: ({ outcome }) => told.push(outcome.reason),
  });
  return { ...bench, told };
}

describe("beforeSend", () => {
  it("gets the message as it would be sent, and what it changes in it is sent", async () => {
    const seen: Message[] = [];
    const { analytics, service } = createScreened((message: Message) => {
      seen.push(structuredClone(message));
      if (message.properties) message.properties["email"] = "redacted";
      delete message.context;
      return message;
    });
    const properties = { email: "ada@example.com" };
    const receipt = analytics.track({
      userId: USER_ID,
      event: "E",
      properties,
      context: { ip: "192.0.2.1" },
    });
    await analytics.flush();
    expect(seen).toEqual([
      {
        type: "track",
        messageId: receipt.messageId,
        timestamp: "2026-01-01T00:00:00.000Z",
        userId: USER_ID,
        event: "E",
        properties: { email: "ada@example.com" },
        context: { ip: "192.0.2.1" },
      },
    ]);
    expect(service.messages).toEqual([{ ...seen[0], properties: { email: "redacted" }, context: undefined }]);
    expect(properties.email).toBe("ada@example.com");
  });

  it("may return another object", async () => {
    const { analytics, service } = createScreened((message: Message) => ({ ...message, event: "Other" }));
    const receipt = analytics.track({ userId: USER_ID, event: "E" });
    await analytics.flush();
    expect(service.messages).toMatchObject([{ event: "Other", messageId: receipt.messageId }]);
  });

  it("drops a message by returning null, which is counted and not told to onDrop", async () => {
    const { analytics, service, told } = createScreened((message: Message) =>
      message.event === "Secret" ? null : message,
    );
    const receipt = analytics.track({ userId: USER_ID, event: "Secret" });
    analytics.track({ userId: USER_ID, event: "Public" });
    expect(receipt.outcome).toEqual({
      status: "dropped",
      reason: "before-send",
      detail: "beforeSend returned null.",
      mayBeStored: false,
    });
    expect(await receipt.accepted).toBe(false);
    expect(await analytics.flush()).toEqual({ delivered: 1, failed: 0, dropped: 1, pending: 0 });
    expect(service.messages.map(({ event }) => event)).toEqual(["Public"]);
    expect(told).toEqual([]);
  });

  it.each<[string, unknown, RegExp]>([
    ["returns nothing", () => {}, /must return the message with its type .*or null/],
    ["returns a text", () => "x", /must return the message/],
    ["is asynchronous", () => Promise.reject(new Error("later")), /not a promise/],
    [
      "returns a promise of another kind",
      () => runInNewContext("Promise.reject(new Error())"),
      /not a promise/,
    ],
    [
      "changes the type",
      (message: Message) => ({ ...message, type: "page" }),
      /must return the message with its type/,
    ],
    ["leaves no event", ({ event: _, ...rest }: Message) => rest, /You must pass 'event'/],
    [
      "returns what JSON cannot carry",
      (message: Message) => ({ ...message, properties: { n: 1n } }),
      /BigInt/,
    ],
    [
      "returns too much",
      (message: Message) => ({ ...message, properties: { bio: "x".repeat(40_000) } }),
      /32768 bytes/,
    ],
    [
      "throws",
      () => {
        throw new Error("no WRITE_KEY\u001b[2J");
      },
      /beforeSend failed: Error: no \[write key\]\\u001b\[2J/,
    ],
  ])("that %s sends nothing, throws nothing, and onDrop is told", async (_, beforeSend, detail) => {
    const { analytics, service, told } = createScreened(beforeSend);
    const receipt = analytics.track({ userId: USER_ID, event: "E" });
    expect(receipt.outcome).toMatchObject({
      status: "dropped",
      reason: "internal-error",
      detail: expect.stringMatching(detail),
      mayBeStored: false,
    });
    expect(await analytics.flush()).toEqual({ delivered: 0, failed: 0, dropped: 1, pending: 0 });
    expect(service.requests).toEqual([]);
    expect(told).toEqual(["internal-error"]);
  });

  it("is not called for a call that cannot be recorded, nor after close()", async () => {
    let calls = 0;
    const { analytics } = createScreened((message: Message) => ((calls += 1), message));
    expect(() => analytics.track({ userId: USER_ID, event: "" })).toThrow(ValidationError);
    await analytics.close();
    analytics.track({ userId: USER_ID, event: "late" });
    expect(calls).toBe(0);
  });
});

it("what passes through beforeSend keeps its keys also where JSON.parse misreads those with an escape, as on Node 24", async () => {
  const script = fileURLToPath(new URL("support/child-passes-keys.mjs", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ["--import", MISREAD_KEYS, script]);
  const properties = { total: 1, 'caf"': 2, nested: [{ "\n": "\n" }] };
  expect(JSON.parse(stdout)).toMatchObject({
    batch: [
      { event: "Plain", properties },
      { event: "Written", properties },
    ],
  });
});

describe("disable", () => {
  it("sends nothing, checks calls as always, and counts them as dropped", async () => {
    const told: string[] = [];
    let requests = 0;
    const analytics = new Analytics("KEY", {
      disable: true,
      flushAt: 1,
      onDrop: ({ outcome }) => told.push(outcome.reason),
      transport: { send: () => ((requests += 1), Promise.reject(new Error("sent"))) },
    });
    const receipt = analytics.track({ userId: USER_ID, event: "E" });
    expect(await receipt).toEqual({
      status: "dropped",
      reason: "disabled",
      detail: "The client was created with disable: true.",
      mayBeStored: false,
    });
    expect(() => analytics.track({ userId: USER_ID, event: "" })).toThrow(ValidationError);
    expect(await analytics.close()).toEqual({ delivered: 0, failed: 0, dropped: 1, pending: 0 });
    expect({ requests, told }).toEqual({ requests: 0, told: [] });
  });
});

describe("a callback, as other clients take one", () => {
  it.each(["identify", "track", "page", "screen", "group", "alias"] as const)(
    "is refused by %s(), which says what to await",
    (type) => {
      const { analytics } = createBench();
      const record = analytics[type].bind(analytics) as (call: object, callback: () => void) => unknown;
      const call = { userId: USER_ID, event: "E", groupId: "g1", previousId: "a1" };
      expect(() => record(call, () => {})).toThrow(TypeError);
      expect(() => record(call, () => {})).toThrow(
        `${type}() takes no callback. Await the receipt that it returns.`,
      );
      expect(analytics.counts.pending).toBe(0);
    },
  );
});
