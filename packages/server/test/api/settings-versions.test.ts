import { mkdirSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { createServer, type CountersignServer } from "@countersign/server";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { apiCaller } from "../support/api-caller.ts";
import { readEvents } from "../support/event-reader.ts";
import { SECRET } from "../support/receiver.ts";
import { closing, temporaryDirectory } from "../../../../tests/support/resources.ts";
import { storedSettings } from "../support/stored-settings.ts";

const URL = "http://127.0.0.1:9/hooks";
const SOURCE = "/sources/default";
const WEBHOOKS = "/sources/default/destinations/webhooks";

let server: CountersignServer;
const { call } = apiCaller(() => server);

beforeEach(async () => {
  server = closing(await createServer({ to: URL, secret: SECRET, port: 0 }));
});

async function etag(): Promise<string> {
  return String((await call("GET", "/sources")).headers.etag);
}

it("the status tells the retry policy in force, which another server on the store has put in place of this one's", async () => {
  const store = storedSettings();
  const open = async (hours: number): Promise<CountersignServer> =>
    closing(await createServer({ to: URL, port: 0, store: store(), retry: { windowMs: hours * 3_600_000 } }));
  server = await open(2);
  const told = async (): Promise<unknown> =>
    ((await call("GET", "/status")).json() as { retryWindowMs: number }).retryWindowMs / 3_600_000;
  expect(await told()).toBe(2);
  await open(3);
  await expect.poll(told).toBe(3);
});

describe("settings", () => {
  it("have an ETag that changes with them, and with nothing else", async () => {
    const first = await etag();
    expect(first).toMatch(/^"\w+-\d+"$/);
    expect(await etag()).toBe(first);
    const changed = await call("PUT", WEBHOOKS, { endpoints: [{ url: `${URL}/2` }] });
    expect(changed.headers.etag).not.toBe(first);
    expect(await etag()).toBe(changed.headers.etag);
    await call("PUT", WEBHOOKS, { endpoints: [] });
    expect(await etag()).toBe(changed.headers.etag);
    server.sender.configure({ sources: server.sender.settings.sources });
    expect(await etag()).not.toBe(changed.headers.etag);
  });

  it("of two tabs: the second change is refused, and overwrites nothing", async () => {
    const read = await etag();
    const first = await call(
      "PUT",
      WEBHOOKS,
      { endpoints: [{ url: `${URL}/first` }] },
      { headers: { "if-match": read } },
    );
    expect(first.status).toBe(200);
    const { settings } = server.sender;
    for (const [method, path, body] of [
      ["PUT", WEBHOOKS, { endpoints: [{ url: `${URL}/second` }] }],
      ["PUT", "/sources/other", {}],
      ["DELETE", WEBHOOKS, undefined],
      ["DELETE", "/sources/default", undefined],
    ] as const) {
      const stale = await call(method, path, body, { headers: { "if-match": read } });
      expect([stale.status, stale.json()]).toMatchObject([
        412,
        { detail: expect.stringContaining("Read them again") },
      ]);
    }
    expect(server.sender.settings).toBe(settings);
    const fresh = { "if-match": `"other", ${String(first.headers.etag)}` };
    expect((await call("PUT", WEBHOOKS, { endpoints: [{ url: URL }] }, { headers: fresh })).status).toBe(200);
  });

  it.each([
    ["source", "/sources/other", {}],
    ["destination", "/sources/default/destinations/other", { endpoints: [{ url: URL }] }],
  ])(
    "a %s is added with If-None-Match: * and changed with If-Match: *, and never the other way round",
    async (_, path, body) => {
      const put = async (headers: Record<string, string>): Promise<unknown[]> => {
        const { settings } = server.sender;
        const answer = await call("PUT", path, body, { headers });
        const { detail = "" } = answer.json() as { detail?: string };
        return [answer.status, server.sender.settings !== settings, detail];
      };
      const adds = { "if-none-match": "*" };
      const changes = { "if-match": "*" };
      expect(await put(changes)).toEqual([
        412,
        false,
        expect.stringContaining("nothing of this name to change"),
      ]);
      expect(await put(adds)).toEqual([200, true, ""]);
      expect(await put(adds)).toEqual([412, false, expect.stringContaining("If-None-Match forbids")]);
      expect(await put(changes)).toEqual([200, true, ""]);
      // An ETag of another time does not hinder, as one of now does.
      expect(await put({ "if-none-match": '"other-1"' })).toEqual([200, true, ""]);
      expect(await put({ "if-none-match": await etag() })).toEqual([
        412,
        false,
        expect.stringContaining("If-None-Match"),
      ]);
    },
  );

  it.each([
    ["If-Match: *", () => ({ "if-match": "*" })],
    ["If-None-Match: *", () => ({ "if-none-match": "*" })],
    ["If-None-Match and the ETag", async () => ({ "if-none-match": await etag() })],
  ])("what is not there, and cannot be added, is answered 404, also with %s", async (_, headersOf) => {
    const headers = await headersOf();
    for (const [method, path, body] of [
      ["DELETE", "/sources/other", undefined],
      ["DELETE", "/sources/default/destinations/other", undefined],
      ["PUT", "/sources/other/destinations/webhooks", { endpoints: [{ url: URL }] }],
    ] as const) {
      const answer = await call(method, path, body, { headers });
      expect([method, path, answer.status]).toEqual([method, path, 404]);
    }
  });

  it("what is not there is added with If-None-Match and the ETag: only what is there has one", async () => {
    const headers = { "if-none-match": await etag() };
    expect((await call("PUT", "/sources/other", {}, { headers })).status).toBe(200);
  });

  it("what is there is not removed with If-None-Match: *", async () => {
    const { settings } = server.sender;
    const answer = await call("DELETE", "/sources/default", undefined, { headers: { "if-none-match": "*" } });
    expect([answer.status, server.sender.settings === settings]).toEqual([412, true]);
  });

  it.each([
    ["nginx, HAProxy and Varnish", (tag: string) => `W/${tag}`],
    ["Apache", (tag: string) => tag.replace(/"$/, '-gzip"')],
    ["Apache, with brotli", (tag: string) => tag.replace(/"$/, '-br"')],
    ["Jetty", (tag: string) => tag.replace(/"$/, '--gzip"')],
    ["two proxies", (tag: string) => `W/${tag.replace(/"$/, '-gzip"')}`],
  ])("can be changed with the ETag that %s made of it while compressing", async (_proxy, compressed) => {
    const read = await etag();
    const put = async (path: string, tag: string): Promise<number> =>
      (await call("PUT", path, {}, { headers: { "if-match": tag } })).status;
    expect(await put("/sources/other", compressed(read))).toBe(200);
    // Those of before are refused in that form, too, and so is what only begins like those in force.
    expect(await put("/sources/third", compressed(read))).toBe(412);
    const now = await etag();
    for (const other of [`${now.slice(0, -1)}0"`, now.replace(/"$/, '-other"'), `X/${now}`, now.slice(1)])
      expect([other, await put("/sources/third", other)]).toEqual([other, 412]);
    expect(await put("/sources/third", compressed(now))).toBe(200);
  });

  it("that could not be saved leave the ETag as it was: the change can be made again when there is room", async () => {
    const data = temporaryDirectory();
    server = closing(await createServer({ to: URL, port: 0, data }));
    const headers = { "if-match": await etag() };
    const inTheWay = join(data, "settings.json.new");
    mkdirSync(inTheWay);
    expect((await call("PUT", "/sources/other", {}, { headers })).status).toBe(503);
    rmdirSync(inTheWay);
    expect(await etag()).toBe(headers["if-match"]);
    expect((await call("PUT", "/sources/other", {}, { headers })).status).toBe(200);
    expect(await etag()).not.toBe(headers["if-match"]);
  });

  it("have the same ETag on all servers that share them: a change may reach another one than they were read from", async () => {
    const stored = storedSettings();
    const open = async (): Promise<CountersignServer> =>
      closing(await createServer({ to: URL, secret: SECRET, port: 0, store: stored() }));
    const servers = [await open(), await open()] as const;
    const [one, other] = servers.map((each) => apiCaller(() => each));
    const change = async (by: typeof one, path: string, read: unknown) =>
      by?.call(
        "PUT",
        WEBHOOKS,
        { endpoints: [{ url: `${URL}/${path}` }] },
        { headers: { "if-match": String(read) } },
      );
    const read = (await one?.call("GET", "/sources"))?.headers.etag;
    const first = await change(other, "first", read);
    expect(first?.status).toBe(200);
    await vi.waitFor(() => expect(servers[0].sender.settings).toEqual(servers[1].sender.settings));
    // Whoever has not seen the change overwrites it on neither.
    expect((await change(one, "stale", read))?.status).toBe(412);
    const again = await change(one, "second", first?.headers.etag);
    expect([again?.status, again?.json()]).toMatchObject([
      200,
      { destinations: [{ endpoints: [{ url: `${URL}/second` }] }] },
    ]);
    // A change of one process alone is another matter.
    servers[0].sender.configure(servers[0].sender.settings);
    expect((await one?.call("GET", "/sources"))?.headers.etag).not.toBe(again?.headers.etag);
  });

  it("can be sent back as they were read, with one of them changed", async () => {
    const read = async (): Promise<object | undefined> => {
      const [source] = (await call("GET", "/sources")).json() as [
        { readonly destinations: readonly object[] },
      ];
      return source.destinations[0];
    };
    expect((await call("PUT", WEBHOOKS, { endpoints: [{ url: URL }], secret: SECRET })).status).toBe(200);
    const before = await read();
    expect(before).toMatchObject({ name: "webhooks", signed: true });
    expect((await call("PUT", WEBHOOKS, { ...before, concurrency: 7 })).status).toBe(200);
    expect(await read()).toEqual({ ...before, concurrency: 7 });
    // A secret that is passed decides, whatever was read.
    expect((await call("PUT", WEBHOOKS, { ...before, secret: null })).status).toBe(200);
    expect(await read()).toEqual({ ...before, signed: false });
    for (const [wrong, pointer, said] of [
      [{ name: "other" }, "/name", /cannot be changed/],
      [{ signed: true }, "/signed", /Pass it as `secret`/],
    ] as const) {
      const refused = await call("PUT", WEBHOOKS, { ...(await read()), ...wrong });
      expect([refused.status, refused.json()]).toMatchObject([
        422,
        { errors: [{ pointer, detail: expect.stringMatching(said) as string }] },
      ]);
    }
    await call("PUT", WEBHOOKS, { endpoints: [{ url: URL }], secret: SECRET });
    const kept = await call("PUT", WEBHOOKS, { ...(await read()), signed: false });
    expect(kept.json()).toMatchObject({
      status: 422,
      errors: [{ detail: expect.stringContaining("pass null") as string }],
    });
  });

  it("of a source can be sent back as they were read, with one of them changed", async () => {
    const read = async (): Promise<object> => {
      const [source] = (await call("GET", "/sources")).json() as [object];
      return source;
    };
    const endpoints = [{ url: URL, headers: { "X-Team": "shop" } }];
    await call("PUT", WEBHOOKS, { endpoints, secret: SECRET });
    expect((await call("PUT", SOURCE, { writeKey: "a key" })).status).toBe(200);
    const before = await read();
    expect(before).toMatchObject({ name: "default", writeKey: "(hidden)", managedBy: "config" });
    const answer = await call("PUT", SOURCE, { ...before, countFiltered: true });
    expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('"countFiltered":true')]);
    expect(await read()).toEqual({ ...before, countFiltered: true });
    // The answer to a change is what was read, too.
    expect((await call("PUT", SOURCE, answer.json())).status).toBe(200);
    for (const [wrong, pointer, said] of [
      [{ name: "other" }, "/name", /cannot be changed/],
      [{ managedBy: "api" }, "/managedBy", /Leave it out/],
      [{ destinations: [] }, "/destinations", /PUT \/api\/sources\/default\/destinations\/NAME/],
    ] as const) {
      const refused = await call("PUT", SOURCE, { ...before, ...wrong });
      expect([refused.status, refused.json()]).toMatchObject([
        422,
        { errors: [{ pointer, detail: expect.stringMatching(said) as string }] },
      ]);
    }
  });

  it("that were read before somebody else's change are answered 412 when they are sent back, and not as if they were wrong", async () => {
    const hidden = { headers: { "X-Team": "shop" } };
    await call("PUT", WEBHOOKS, { endpoints: [{ url: URL, ...hidden }], secret: SECRET });
    await call("PUT", "/sources/other", { writeKey: "a key" });
    await call("PUT", "/sources/other/destinations/gone", { endpoints: [{ url: URL }] });
    const answer = await call("GET", "/sources");
    const [source, other] = answer.json() as [{ readonly destinations: readonly object[] }, object];
    await call("PUT", WEBHOOKS, { endpoints: [{ url: `${URL}/2` }], secret: null });
    await call("DELETE", "/sources/other");
    for (const [method, path, body] of [
      ["PUT", SOURCE, { ...source, countFiltered: true }],
      ["PUT", "/sources/other", { ...other, countFiltered: true }],
      ["PUT", WEBHOOKS, source.destinations[0]],
      ["PUT", "/sources/other/destinations/gone", { endpoints: [{ url: URL }] }],
      ["DELETE", "/sources/other/destinations/gone", undefined],
      ["DELETE", "/sources/other", undefined],
    ] as const) {
      const stale = await call(method, path, body, { headers: { "if-match": String(answer.headers.etag) } });
      expect([method, path, stale.status]).toEqual([method, path, 412]);
    }
  });

  it("that are wrong are answered with a pointer to each mistake", async () => {
    const wrongTypes = await call("PUT", WEBHOOKS, {
      endpoints: [{ url: 5 }, { uri: URL }],
      enabled: "yes",
      "a/b": 1,
    });
    expect(wrongTypes.json()).toMatchObject({
      status: 400,
      errors: expect.arrayContaining([
        { pointer: "/a~1b", detail: "is unknown." },
        { pointer: "/enabled", detail: "must be boolean." },
        { pointer: "/endpoints/0/url", detail: "must be string." },
        { pointer: "/endpoints/1/uri", detail: "is unknown." },
        { pointer: "/endpoints/1/url", detail: "is missing." },
      ]),
    });
    const invalid = await call("PUT", WEBHOOKS, {
      endpoints: [{ url: URL, headers: { "X-A": "1" } }, { url: "ftp://x/" }, { url: URL }],
      secret: "  ",
      concurrency: 5,
    });
    const { errors } = invalid.json() as { errors: { pointer: string }[] };
    expect([invalid.status, errors.map(({ pointer }) => pointer)]).toEqual([
      422,
      expect.arrayContaining(["/endpoints/1/url", "/endpoints/2/url", "/secret"]),
    ]);
    await call("PUT", "/sources/second", { writeKey: "second-key" });
    const taken = await call("PUT", "/sources/third", { writeKey: "second-key" });
    expect(taken.json()).toMatchObject({ errors: [{ pointer: "/writeKey" }] });
    const hidden = await call("PUT", WEBHOOKS, { endpoints: [{ url: URL, headers: { "X/A": "(hidden)" } }] });
    expect(hidden.json()).toMatchObject({ status: 422, errors: [{ pointer: "/endpoints/0/headers/X~1A" }] });
  });

  it("tell readers of the event stream what has changed", async () => {
    const reader = await readEvents(server.url);
    const { headers } = await call("PUT", "/sources/other", { countFiltered: true });
    await call("DELETE", "/sources/other");
    await expect
      .poll(() => reader.events().filter(({ event }) => event === "settings"))
      .toMatchObject([
        { source: "other", etag: headers.etag },
        { source: "other", removed: true },
      ]);
  });
});

describe("a wrong request", () => {
  it("is answered with the name of the parameter, and with the one that was probably meant", async () => {
    expect((await call("GET", "/deliveries?stat=pending")).json()).toMatchObject({
      status: 400,
      detail: 'The parameter "stat" does not exist; did you mean "state"?',
      errors: [{ parameter: "stat" }],
    });
    expect((await call("GET", "/deliveries?limit=0")).json()).toMatchObject({
      status: 400,
      detail: "limit must be >= 1.",
      errors: [{ parameter: "limit", detail: "must be >= 1." }],
    });
    expect((await call("GET", "/deliveries?state=lost")).json()).toMatchObject({
      errors: [{ parameter: "state", detail: "must be one of: pending, delivered, failed, expired." }],
    });
  });

  it("with a million mistakes costs bounded work and reports the first", async () => {
    const many = await call("PUT", WEBHOOKS, { endpoints: Array.from({ length: 100_000 }, () => 1) });
    const { errors } = many.json() as { errors: unknown[] };
    expect([many.status, errors.length]).toEqual([400, 50]);
    const users = await call("PUT", "/audiences/vip", {
      userIds: Array.from({ length: 1_000_000 }, () => 1),
    });
    expect(users.json()).toMatchObject({ status: 400, errors: [{ pointer: "/userIds/0" }] });
    const large = await call("POST", "/deletions", { userId: "u".repeat(300_000) });
    expect(large.status).toBe(413);
  });
});
