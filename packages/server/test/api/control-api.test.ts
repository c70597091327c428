import { readdirSync, readFileSync } from "node:fs";
import { sqliteStore, StoreError } from "@countersign/sender";
import { virtualClock } from "@countersign/sender/testing";
import { createServer, type CountersignServer } from "@countersign/server";
import { beforeEach, describe, expect, it } from "vitest";
import { changedStore } from "../../../sender/test/support/changed-store.ts";
import { apiCaller } from "../support/api-caller.ts";
import { send } from "../support/http.ts";
import { SECRET, startReceiver, type Receiver } from "../support/receiver.ts";
import { closing } from "../../../../tests/support/resources.ts";

let receiver: Receiver;
let server: CountersignServer;

beforeEach(async () => {
  receiver = closing(await startReceiver());
  server = closing(await createServer({ to: receiver.url, secret: SECRET, port: 0 }));
});

const { call, documentOf } = apiCaller(() => server);

async function record(event: string, messageId = event): Promise<void> {
  const body = { writeKey: "any", userId: "u1", event, messageId };
  expect((await send(`${server.url}/v1/track`, { method: "POST", body })).status).toBe(200);
  await server.sender.idle();
}

describe("rejected messages", () => {
  it("are listed with their reason, the newest first, the last thousand", async () => {
    const batch = Array.from({ length: 1_200 }, (_, n) => ({
      type: "track",
      userId: "u",
      messageId: `m${n}`,
    }));
    await send(`${server.url}/v1/batch`, { method: "POST", body: { writeKey: "any", batch } });
    const first = (await call("GET", "/rejections?limit=2")).json();
    expect(first).toMatchObject([
      { reason: "missing_event", index: 1_199, messageId: "m1199", source: "default" },
      { index: 1_198 },
    ]);
    expect((await call("GET", "/rejections?limit=1000")).json()).toHaveLength(1_000);
    await send(`${server.url}/v1/batch`, {
      method: "POST",
      body: { writeKey: "any", batch: batch.slice(0, 1) },
    });
    const all = (await call("GET", "/rejections?limit=1000")).json() as { messageId: string }[];
    expect([all[0]?.messageId, all.at(-1)?.messageId, all.length]).toEqual(["m0", "m201", 1_000]);
  });

  it("are cut where they are long or deep", async () => {
    const long = { type: "track", userId: "u", event: "e", properties: { a: "x".repeat(40_000) } };
    const deep = `${'{"a":'.repeat(60_000)}1${"}".repeat(60_000)}`;
    await send(`${server.url}/v1/batch`, { method: "POST", body: { writeKey: "any", batch: [long] } });
    await fetch(`${server.url}/v1/batch`, { method: "POST", body: `{"writeKey":"any","batch":[${deep}]}` });
    const kept = (await call("GET", "/rejections")).json() as { reason: string; message: string }[];
    expect(kept.map(({ reason, message }) => [reason, message.length <= 32_768])).toEqual([
      ["nested_too_deeply", true],
      ["message_too_large", true],
    ]);
  });
});

describe("warnings", () => {
  it("are listed with the path of what they are about, the newest first, the last thousand", async () => {
    for (let sent = 0; sent < 11; sent += 1) {
      const items = Array.from(
        { length: 100 },
        (_, n) =>
          `{"type":"track","userId":"u","event":"e","messageId":"m${sent * 100 + n}","properties":{"n":9007199254740993}}`,
      );
      await fetch(`${server.url}/v1/batch`, {
        method: "POST",
        body: `{"writeKey":"any","batch":[${items.join()}]}`,
      });
    }
    const all = (await call("GET", "/warnings?limit=1000")).json() as { messageId: string }[];
    expect([all[0]?.messageId, all.at(-1)?.messageId, all.length]).toEqual(["m1099", "m100", 1_000]);
    expect((await call("GET", "/warnings?limit=1")).json()).toMatchObject([
      { reason: "unsafe_integer", paths: ["properties.n"], index: 99, source: "default", type: "track" },
    ]);
  });
});

describe("sources and destinations", () => {
  it("are shown without secrets, and changed while running", async () => {
    expect((await call("GET", "/sources")).json()).toEqual([
      {
        name: "default",
        writeKey: "default",
        destinations: [{ name: "webhooks", endpoints: [{ url: receiver.url }], signed: true, enabled: true }],
        blockedEvents: [],
        countFiltered: false,
        managedBy: "config",
      },
    ]);
    expect((await call("GET", "/sources")).text).not.toContain(SECRET);
    const other = closing(await startReceiver());
    await call("PUT", "/sources/default/destinations/webhooks", {
      endpoints: [{ url: other.url, headers: { "X-Team": "a" } }],
    });
    await record("Moved");
    expect(other.webhooks).toHaveLength(1);
    await call("PUT", "/sources/default", { blockedEvents: ["Blocked"] });
    await record("Blocked");
    expect(other.webhooks).toHaveLength(1);
    await call("PUT", "/sources/shop", { writeKey: "shop-key" });
    await call("PUT", "/sources/shop/destinations/audit", {
      endpoints: [{ url: other.url }],
      secret: null,
    });
    expect((await call("GET", "/sources")).json()).toMatchObject([
      { name: "default", blockedEvents: ["Blocked"] },
      { name: "shop", writeKey: "(hidden)", destinations: [{ name: "audit", signed: false }] },
    ]);
    expect((await call("DELETE", "/sources/shop/destinations/audit")).status).toBe(200);
    expect((await call("DELETE", "/sources/shop")).status).toBe(200);
    expect((await call("GET", "/sources")).json()).toHaveLength(1);
  });

  it("stay as they are when a change is wrong", async () => {
    const before = (await call("GET", "/sources")).text;
    const sixth = Array.from({ length: 6 }, (_, n) => ({ url: `http://localhost:${3_000 + n}/` }));
    const answers = [
      await call("PUT", "/sources/default/destinations/webhooks", { endpoints: sixth }),
      await call("PUT", "/sources/default/destinations/webhooks", { endpoints: [{ url: "ftp://x/" }] }),
      await call("PUT", "/sources/default/destinations/webhooks", { endpoints: [] }),
      await call("PUT", "/sources/default/destinations/webhooks", {
        endpoints: [{ url: receiver.url, headers: { A: "x\ny" } }],
      }),
      await call("PUT", "/sources/default/destinations/webhooks", {
        endpoints: [{ url: receiver.url }],
        secrt: "typo",
      }),
      await call("DELETE", "/sources/default"),
      await call("DELETE", "/sources/none"),
      await call("DELETE", "/sources/default/destinations/none"),
      await call("PUT", "/sources/none/destinations/x", { endpoints: [{ url: receiver.url }] }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([422, 422, 422, 422, 400, 422, 404, 404, 404]);
    expect((await call("GET", "/sources")).text).toBe(before);
  });
});

describe("faults", () => {
  it("strike a receiver, are listed until they are used up, and can be taken back", async () => {
    const injected = await call("POST", "/faults", { fault: "bad_signature" });
    expect(injected.json()).toMatchObject({ id: 1, fault: "bad_signature", remaining: 1 });
    await call("POST", "/faults", { fault: "slow_body", times: "unlimited", messageId: "other" });
    await record("First");
    expect(receiver.webhooks).toEqual([]);
    expect((await call("GET", "/faults")).json()).toEqual([
      { id: 2, fault: "slow_body", scope: { messageId: "other" }, remaining: "unlimited" },
    ]);
    expect((await call("DELETE", "/faults/2")).status).toBe(204);
    expect((await call("DELETE", "/faults/2")).status).toBe(404);
    expect((await call("POST", "/faults", { fault: "flood" })).status).toBe(400);
    const never = await call("POST", "/faults", { fault: "reset", times: 0 });
    expect([never.status, never.json()]).toMatchObject([
      400,
      { errors: [{ pointer: "/times", detail: 'must be >= 1, or must be "unlimited".' }] },
    ]);
    expect((await call("POST", "/faults", { fault: "reset", times: 1 })).json()).toMatchObject({
      remaining: 1,
    });
    expect((await call("POST", "/faults", { fault: "rate_limit", seconds: 1 })).status).toBe(201);
  });

  it("limit the rate of clients", async () => {
    await call("POST", "/faults", { fault: "rate_limit", seconds: 3, times: 2 });
    const body = { writeKey: "any", userId: "u", event: "e" };
    const statuses: unknown[] = [];
    for (let n = 0; n < 3; n += 1) {
      const { status, headers } = await send(`${server.url}/v1/track`, { method: "POST", body });
      statuses.push([status, headers["retry-after"], headers["x-ratelimit-reset"]]);
    }
    expect(statuses).toEqual([
      [429, "3", "3"],
      [429, "3", "3"],
      [200, undefined, undefined],
    ]);
    expect((await call("GET", "/faults")).json()).toEqual([]);
  });
});

describe("the clock", () => {
  it("of the system is reported but cannot be advanced", async () => {
    expect((await call("GET", "/clock")).json()).toMatchObject({ kind: "system" });
    expect((await call("POST", "/clock", { advance: "1h" })).json()).toMatchObject({ status: 409 });
  });

  it("that is virtual runs four hours of retries while it is moved", async () => {
    const options = { to: receiver.url, secret: SECRET, port: 0, clock: virtualClock() };
    const virtual = closing(await createServer(options));
    receiver.answers.push(...Array.from({ length: 5 }, () => 503));
    await send(`${virtual.url}/v1/track`, {
      method: "POST",
      body: { writeKey: "any", userId: "u", event: "e" },
    });
    const moved = await call("POST", "/clock", { advance: "4h" }, { at: virtual });
    expect(moved.json()).toEqual({ kind: "virtual", now: "2026-01-01T04:00:00.000Z" });
    expect(receiver.attempts()).toBe(6);
    expect(receiver.webhooks).toHaveLength(1);
    expect((await call("POST", "/clock", { advance: "soon" }, { at: virtual })).status).toBe(422);
    expect((await call("POST", "/clock", { advance: -1 }, { at: virtual })).status).toBe(422);
    expect((await call("POST", "/clock", {}, { at: virtual })).status).toBe(400);
  });
});

describe("users", () => {
  it("join and leave audiences", async () => {
    await call("PUT", "/audiences/Big%20Spenders", { userIds: ["a", "b"] });
    const second = await call("PUT", "/audiences/Big%20Spenders", { userIds: ["b", "c"] });
    expect(second.json()).toMatchObject({ changed: ["c"], removed: ["a"] });
    await server.sender.idle();
    const traits = receiver.webhooks.map(
      (message) => message.type === "identify" && [message.userId, message.traits],
    );
    expect(traits).toHaveLength(4);
    expect(traits).toContainEqual(["a", { big_spenders: false }]);
    expect(traits).toContainEqual(["c", { big_spenders: true }]);
  });

  it("learn why a sync sent nothing, as a call does", async () => {
    await call("PUT", "/sources/empty", {});
    const nothing = { changed: [], removed: [], deliveries: [], skipped: "no_destination" };
    const audience = await call("PUT", "/audiences/VIP", { userIds: ["a"], source: "empty" });
    expect([audience.status, audience.json()]).toEqual([200, nothing]);
    const trait = await call("PUT", "/computed-traits/Orders", { values: { a: 1 }, source: "empty" });
    expect([trait.status, trait.json()]).toEqual([200, nothing]);
  });

  it("are refused with a status that the document has, for a source that does not exist", async () => {
    const answers = [
      await call("PUT", "/audiences/VIP", { userIds: ["u1"], source: "none" }),
      await call("PUT", "/computed-traits/orders", { values: { u1: 1 }, source: "none" }),
      await call("POST", "/deletions", { userId: "u1", sources: ["none"] }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([422, 422, 422]);
    // The pointer leads into the body that was sent, and the text names the field of that body.
    expect(answers.map((answer) => answer.json())).toMatchObject([
      { detail: expect.stringContaining("in `source`: "), errors: [{ pointer: "/source" }] },
      { detail: expect.stringContaining("in `source`: "), errors: [{ pointer: "/source" }] },
      { detail: expect.stringContaining("in `sources`: "), errors: [{ pointer: "/sources/0" }] },
    ]);
  });

  it("get computed traits", async () => {
    await call("PUT", "/computed-traits/Orders", { values: { a: 1, b: 2 } });
    const second = await call("PUT", "/computed-traits/Orders", {
      values: { a: 1, b: 3 },
      source: "default",
    });
    expect(second.json()).toMatchObject({ changed: ["b"] });
    expect((await call("PUT", "/computed-traits/Orders", { values: [1] })).status).toBe(400);
  });

  it("are deleted", async () => {
    expect((await call("POST", "/deletions", { userId: "u9" })).status).toBe(201);
    await server.sender.idle();
    expect(receiver.webhooks).toEqual([{ type: "delete", userId: "u9", timestamp: expect.any(String) }]);
    expect((await call("POST", "/deletions", { userId: "" })).status).toBe(400);
  });
});

describe("the API", () => {
  it("says why the store failed, and when to come again; what else fails is in the server's log alone", async () => {
    let error: Error = new StoreError("ERR_STORE_FAILED", "The database does not answer.");
    const store = changedStore(sqliteStore(), () => ({ counts: () => Promise.reject(error) }));
    const logged: unknown[] = [];
    const onError = (thrown: unknown): void => void logged.push(thrown);
    const at = closing(await createServer({ to: receiver.url, port: 0, store, onError }));
    const failed = await call("GET", "/stats", undefined, { at });
    expect([failed.status, failed.headers["retry-after"]]).toEqual([503, "5"]);
    expect(failed.json()).toMatchObject({ status: 503, detail: "The database does not answer." });
    error = new Error("disk /dev/secret");
    const broken = await send(`${at.url}/api/stats`);
    expect(broken.json()).toMatchObject({ status: 500, detail: expect.stringContaining("See its log") });
    expect([broken.headers["retry-after"], broken.text]).toEqual([
      undefined,
      expect.not.stringContaining("secret"),
    ]);
    expect(logged).toMatchObject([{ code: "ERR_STORE_FAILED" }, error]);
  });

  it.each<[string, string, string, object]>([
    ["a list that is text", "PUT", "/audiences/VIP", { userIds: "u1" }],
    ["a list with null", "PUT", "/audiences/VIP", { userIds: [null] }],
    ["a user that is a number", "POST", "/deletions", { userId: 5 }],
    [
      "a switch that is null",
      "PUT",
      "/sources/default/destinations/webhooks",
      { endpoints: [{ url: "http://127.0.0.1:9/" }], enabled: null },
    ],
    [
      "a secret that is false",
      "PUT",
      "/sources/default/destinations/webhooks",
      { endpoints: [{ url: "http://127.0.0.1:9/" }], secret: false },
    ],
  ])("makes nothing of %s", async (_title, method, path, body) => {
    const { sender } = server;
    await (await sender.syncAudience("VIP", ["u1", "u2"])).settled();
    const { settings } = sender;
    expect((await call(method, path, body)).status).toBe(400);
    expect(sender.settings).toBe(settings);
    expect(await sender.deliveries()).toHaveLength(2);
  });

  it("answers unknown paths and unreadable bodies with problem documents", async () => {
    const unknown = await send(`${server.url}/api/nothing`);
    expect(unknown).toMatchObject({
      status: 404,
      headers: { "content-type": expect.stringContaining("application/problem+json") },
    });
    const broken = await fetch(`${server.url}/api/faults`, {
      method: "POST",
      body: "{",
      headers: { "content-type": "application/json" },
    });
    expect([broken.status, broken.headers.get("content-type")]).toEqual([
      400,
      "application/problem+json; charset=utf-8",
    ]);
    const text = await fetch(`${server.url}/api/faults`, {
      method: "POST",
      body: "{}",
      headers: { "content-type": "text/plain" },
    });
    expect(text.status).toBe(415);
  });

  it("describes what each operation answers to a body that it does not read, also where it takes none", async () => {
    const read = async (url: string, method: string, headers: Record<string, string>): Promise<number> =>
      (await send(url, { method, body: "{}", headers: { "content-length": "4", ...headers } })).status;
    for (const [path, operations] of Object.entries((await documentOf()).paths)) {
      const url = server.url + path.replaceAll(/\{\w+\}/g, "none");
      for (const method of Object.keys(operations).map((name) => name.toUpperCase())) {
        if (method === "GET") continue;
        expect([method, path, await read(url, method, { "content-type": "text/plain" })]).toEqual([
          method,
          path,
          415,
        ]);
        expect([method, path, await read(url, method, { "content-length": "100000000" })]).toEqual([
          method,
          path,
          413,
        ]);
      }
    }
  });

  it("has every documented operation called by a test", async () => {
    const sources = testSources();
    const uncalled = Object.entries((await documentOf()).paths).flatMap(([path, operations]) =>
      Object.entries(operations).flatMap(([method, { operationId }]) => {
        const called = `call\\(\\s*"${method.toUpperCase()}",\\s*["\`]${pattern(path)}["\`?]`;
        return sources.some((source) => new RegExp(called).test(source)) ? [] : [operationId];
      }),
    );
    // It has no JSON; its tests are in test/live.
    expect(uncalled).toEqual(["streamEvents"]);
  });
});

function testSources(): readonly string[] {
  const folder = new URL(".", import.meta.url);
  return readdirSync(folder).map((file) => readFileSync(new URL(file, folder), "utf8"));
}

function pattern(path: string): string {
  return path.replace("/api", "").replaceAll(/\{\w+\}/g, '[^/"`]+');
}
