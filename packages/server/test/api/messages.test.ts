import { createServer, type CountersignServer } from "@countersign/server";
import { beforeEach, describe, expect, it } from "vitest";
import { apiCaller } from "../support/api-caller.ts";
import { SECRET, startReceiver, type Receiver } from "../support/receiver.ts";
import { closing } from "../../../../tests/support/resources.ts";

let receiver: Receiver;
let server: CountersignServer;
const { call } = apiCaller(() => server);

beforeEach(async () => {
  receiver = closing(await startReceiver());
  server = closing(await createServer({ to: receiver.url, secret: SECRET, port: 0 }));
});

interface Checked {
  readonly valid: boolean;
  readonly errors: readonly { pointer: string; rule: string; detail: string }[];
}

const MESSAGES: Readonly<Record<string, object>> = {
  identify: { userId: "u1", traits: { plan: "pro" } },
  track: { userId: "u1", event: "Ordered", properties: { total: 41.5 } },
  page: { anonymousId: "a1", name: "Home" },
  screen: { userId: "u1", name: "Start" },
  group: { userId: "u1", groupId: "g1" },
  alias: { userId: "u1", previousId: "a1" },
  delete: { userId: "u1" },
};

describe("messages", () => {
  it.each(Object.entries(MESSAGES))(
    "of the type %s are sent, and answered with a receipt",
    async (type, fields) => {
      const message = { type, ...fields };
      expect((await call("POST", "/messages?check", message)).json()).toEqual({ valid: true, errors: [] });
      expect(receiver.attempts()).toBe(0);
      const sent = await call("POST", "/messages", message);
      expect([sent.status, sent.json()]).toMatchObject([
        201,
        { messageId: expect.any(String), deliveries: [expect.any(String)] },
      ]);
      await server.sender.idle();
      expect(receiver.webhooks).toMatchObject([{ type }]);
    },
  );

  it("are sent again when they come again, as the document says: a receiver is to recognise the repeat", async () => {
    const message = { type: "track", userId: "u1", event: "Ordered", messageId: "mine" };
    const receipts = [await call("POST", "/messages", message), await call("POST", "/messages", message)];
    const ids = receipts.flatMap((receipt) => (receipt.json() as { deliveries: string[] }).deliveries);
    expect(new Set(ids).size).toBe(2);
    await server.sender.idle();
    expect(receiver.webhooks).toMatchObject([{ messageId: "mine" }, { messageId: "mine" }]);
  });

  it("keep their own id, and tell why they go nowhere", async () => {
    const receipt = await call("POST", "/messages", {
      type: "track",
      userId: "u1",
      event: "Ordered",
      messageId: "mine",
      integrations: { All: false },
    });
    expect(receipt.json()).toEqual({ messageId: "mine", deliveries: [], skipped: "integrations" });
    const none = closing(await createServer({ sources: [{ name: "empty", destinations: [] }], port: 0 }));
    const deletion = await call("POST", "/messages", { type: "delete", userId: "u1" }, { at: none });
    expect(deletion.status).toBe(409);
  });

  it.each<[string, object, readonly string[]]>([
    [
      "a track call",
      { type: "track", userId: "u1", groupId: "g1", timestamp: "never" },
      ["/groupId", "/event", "/timestamp"],
    ],
    [
      "an identify call",
      { type: "identify", name: "Ada", event: "E", traits: 5 },
      ["/name", "/event", "/userId", "/traits"],
    ],
    [
      "a deletion",
      { type: "delete", messageId: "m1", timestamp: "never" },
      ["/messageId", "/userId", "/timestamp"],
    ],
  ])("list a field of another type once, and the mistakes after it: %s", async (_what, message, pointers) => {
    const { errors } = (await call("POST", "/messages?check", message)).json() as Checked;
    expect(errors.map(({ pointer }) => pointer).toSorted()).toEqual([...pointers].toSorted());
    const sent = await call("POST", "/messages", message);
    expect([sent.status, sent.json()]).toMatchObject([422, { errors }]);
  });

  it.each(Object.entries(MESSAGES))(
    "of the type %s are taken if a check calls them valid, with null for an absent time too",
    async (type, fields) => {
      const message = { type, ...fields, timestamp: null };
      expect((await call("POST", "/messages?check", message)).json()).toEqual({ valid: true, errors: [] });
      expect((await call("POST", "/messages", message)).status).toBe(201);
    },
  );

  it("are checked completely: every mistake has a pointer and its rule", async () => {
    const checked = async (message: object): Promise<Checked> =>
      (await call("POST", "/messages?check=true", message)).json() as Checked;
    const { valid, errors } = await checked({
      type: "track",
      usrId: "u1",
      event: 5,
      properties: "none",
      timestamp: "yesterday",
      integrations: { "Mail.io": 3 },
      "a/b": 1,
    });
    expect(valid).toBe(false);
    expect(Object.fromEntries(errors.map(({ pointer, rule }) => [pointer, rule]))).toEqual({
      "/usrId": "unknown_field",
      "/a~1b": "unknown_field",
      "/event": "invalid_field",
      "/properties": "invalid_field",
      "/timestamp": "invalid_timestamp",
      "/integrations/Mail.io": "invalid_field",
      "/userId": "no_user_anon_id",
    });
    expect((await checked({ type: "alias" })).errors.map(({ rule }) => rule)).toEqual([
      "missing_user_id",
      "missing_previous_id",
    ]);
    expect(await checked({ userId: "u" })).toMatchObject({
      errors: [{ pointer: "/type", rule: "missing_type" }],
    });
    expect(await checked({ type: "trak" })).toMatchObject({
      errors: [{ pointer: "/type", rule: "unknown_type" }],
    });
    expect(await checked({ type: "delete", userId: "", traits: {} })).toMatchObject({
      errors: [{ pointer: "/traits" }, { pointer: "/userId", rule: "missing_user_id" }],
    });
    const large = { type: "identify", userId: "u", traits: { a: "x".repeat(40_000) } };
    expect(await checked(large)).toMatchObject({ errors: [{ rule: "message_too_large" }] });
    const deep = JSON.parse(`${'{"a":'.repeat(600)}1${"}".repeat(600)}`) as object;
    expect(await checked({ type: "identify", userId: "u", traits: deep })).toMatchObject({
      errors: [{ rule: "nested_too_deeply" }],
    });
    expect(
      (await checked(Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`f${n}`, 1])))).errors,
    ).toHaveLength(1);
  });

  it("that break a rule are not sent, and the answer says the same as the check", async () => {
    const message = { type: "track", userId: "u1", propertys: {} };
    const refused = await call("POST", "/messages", message);
    const { errors } = (await call("POST", "/messages?check", message)).json() as Checked;
    expect([refused.status, refused.json()]).toMatchObject([422, { errors }]);
    expect(errors.map(({ pointer }) => pointer)).toEqual(["/propertys", "/event"]);
    expect((await call("POST", "/messages", [])).status).toBe(400);
    expect(await server.sender.deliveries()).toEqual([]);
  });

  it("need the name of their source where there are several", async () => {
    await call("PUT", "/sources/shop", {});
    const message = { type: "track", userId: "u1", event: "Ordered" };
    expect((await call("POST", "/messages", message)).json()).toMatchObject({
      status: 422,
      errors: [{ parameter: "source" }],
    });
    expect((await call("POST", "/messages?source=none", message)).status).toBe(422);
    expect((await call("POST", "/messages?source=default", message)).status).toBe(201);
  });
});
