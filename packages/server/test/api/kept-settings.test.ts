import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createServer, type CountersignServer, type ServerOptions } from "@countersign/server";
import { sqliteStore } from "@countersign/sender";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { isWindows } from "../../../core/test/support/windows.ts";
import { send, type Answer } from "../support/http.ts";
import { SECRET, startReceiver, type Receiver } from "../support/receiver.ts";
import { closing, temporaryDirectory } from "../../../../tests/support/resources.ts";
import { storedSettings } from "../support/stored-settings.ts";

let receiver: Receiver;
let data: string;

beforeEach(async () => {
  receiver = closing(await startReceiver());
  data = temporaryDirectory();
});

async function start(options: ServerOptions = {}): Promise<CountersignServer> {
  return closing(await createServer({ to: receiver.url, secret: SECRET, port: 0, data, ...options }));
}

function call(server: CountersignServer, method: string, path: string, body?: object): Promise<Answer> {
  return send(`${server.url}/api${path}`, { method, body });
}

/** Adds the source `shop` with one destination, through the API. */
async function addShop(server: CountersignServer, url: string, secret = SECRET): Promise<Answer> {
  await call(server, "PUT", "/sources/shop", { writeKey: "shop-key" });
  const body = { endpoints: [{ url }], secret: secret };
  return call(server, "PUT", "/sources/shop/destinations/hooks", body);
}

async function track(server: CountersignServer, writeKey: string, event: string): Promise<void> {
  const body = { writeKey, userId: "u", event };
  expect((await send(`${server.url}/v1/track`, { method: "POST", body })).status).toBe(200);
  await server.sender.idle();
}

const eventsOf = ({ webhooks }: Receiver): unknown[] =>
  webhooks.map((message) => "event" in message && message.event);

async function sourcesOf(server: CountersignServer): Promise<unknown[]> {
  const sources = (await call(server, "GET", "/sources")).json() as { name: string; managedBy: string }[];
  return sources.map(({ name, managedBy }) => [name, managedBy]);
}

describe("a source made through the API, next to --to", () => {
  it("gets the calls of its own write key, signed with its own secret; every other key goes to the default", async () => {
    const shop = closing(await startReceiver("the shop's secret"));
    const server = await start();
    await addShop(server, shop.url, "the shop's secret");
    await track(server, "shop-key", "Of the shop");
    await track(server, "any other", "Of the default");
    expect([eventsOf(shop), eventsOf(receiver)]).toEqual([["Of the shop"], ["Of the default"]]);
  });

  it("is saved without the text of every other source being made again, in a file as JSON.stringify() makes it", async () => {
    const server = await start();
    const names = Array.from({ length: 20 }, (_, index) => `shop-${index}`);
    for (const name of names) await call(server, "PUT", `/sources/${name}`, { writeKey: `${name}-key-é` });
    const stringify = vi.spyOn(JSON, "stringify");
    onTestFinished(() => stringify.mockRestore());
    await call(server, "PUT", "/sources/shop-7", { blockedEvents: ["Blocked"] });
    const indented = stringify.mock.calls.filter(([, , indent]) => indent === 2);
    expect(indented.map(([value]) => (value as { name?: string }).name)).toEqual(["shop-7"]);
    const text = readFileSync(join(data, "settings.json"), "utf8");
    const saved = JSON.parse(text) as { sources: { name: string }[] };
    expect(text).toBe(JSON.stringify(saved, undefined, 2));
    expect(saved.sources.map(({ name }) => name)).toEqual(names);
    for (const name of names) await call(server, "DELETE", `/sources/${name}`);
    expect(readFileSync(join(data, "settings.json"), "utf8")).toBe(
      JSON.stringify({ version: 1, sources: [] }, undefined, 2),
    );
  });

  it("outlasts a restart with --data, in a file that only its owner can read", async () => {
    const first = await start();
    expect((await addShop(first, receiver.url)).json()).not.toHaveProperty("note");
    await first.close();
    const { mode } = statSync(join(data, "settings.json"));
    // Windows has no modes.
    if (!isWindows) expect(mode & 0o777).toBe(0o600);
    const second = await start();
    expect(await sourcesOf(second)).toEqual([
      ["default", "config"],
      ["shop", "api"],
    ]);
    await track(second, "shop-key", "After the restart");
    expect(eventsOf(receiver)).toEqual(["After the restart"]);
    expect((await call(second, "DELETE", "/sources/shop")).json()).toEqual({});
    await second.close();
    expect(await sourcesOf(await start())).toEqual([["default", "config"]]);
  });

  it("is enough to start, if no other destination is configured", async () => {
    const first = await start();
    await addShop(first, receiver.url);
    await first.close();
    const second = await start({ to: undefined, secret: undefined });
    expect(await sourcesOf(second)).toEqual([["shop", "api"]]);
    await expect(createServer({ port: 0 })).rejects.toThrow("No destination is configured. Pass --to URL");
  });

  it("says that it will be lost at a restart without --data", async () => {
    const server = await start({ data: undefined });
    expect((await addShop(server, receiver.url)).json()).toMatchObject({
      managedBy: "api",
      note: expect.stringContaining("Start it with --data"),
    });
  });
});

describe("a source made through the API, on a store of the caller", () => {
  it("outlasts a restart with data, where the store has no settings", async () => {
    const first = await start({ store: sqliteStore() });
    expect((await addShop(first, receiver.url)).json()).not.toHaveProperty("note");
    await first.close();
    expect(await sourcesOf(await start({ store: sqliteStore() }))).toEqual([
      ["default", "config"],
      ["shop", "api"],
    ]);
  });

  it("says that it will be lost at a restart without data, where the store has no settings", async () => {
    const server = await start({ data: undefined, store: sqliteStore() });
    expect((await addShop(server, receiver.url)).json()).toMatchObject({
      note: expect.stringContaining("Start it with --data"),
    });
  });

  it("stays as it was changed last, in a store that has the settings, whatever an earlier run left in data", async () => {
    const before = await start();
    await addShop(before, "http://127.0.0.1:9/");
    await before.close();
    const stored = storedSettings();
    const first = await start({ store: stored() });
    expect((await addShop(first, receiver.url)).json()).not.toHaveProperty("note");
    await first.close();
    const second = await start({ store: stored() });
    await track(second, "shop-key", "To the new endpoint");
    expect(eventsOf(receiver)).toEqual(["To the new endpoint"]);
  });
});

describe("a source of the flags or the config file", () => {
  it("can be edited until the restart, and the answer says so", async () => {
    const first = await start();
    const edited = await call(first, "PUT", "/sources/default", { blockedEvents: ["Noise"] });
    const temporary = { note: expect.stringContaining("lasts until the server restarts") };
    expect(edited.json()).toMatchObject({ managedBy: "config", blockedEvents: ["Noise"], ...temporary });
    await addShop(first, receiver.url);
    expect((await call(first, "DELETE", "/sources/default")).json()).toEqual(temporary);
    await first.close();
    const second = await start();
    await track(second, "any", "Noise");
    expect(eventsOf(receiver)).toEqual(["Noise"]);
  });

  it("wins at every start over one of the same name made through the API", async () => {
    const first = await start();
    await addShop(first, "http://127.0.0.1:9/");
    await first.close();
    const destinations = [{ endpoints: [{ url: receiver.url }], secret: SECRET }];
    const sources = [{ name: "shop", writeKey: "new-key", destinations }];
    const second = await start({ to: undefined, secret: undefined, sources });
    await track(second, "new-key", "By the config");
    expect(eventsOf(receiver)).toEqual(["By the config"]);
  });
});

describe("a destination without settings", () => {
  it("shows as such with what waits for it, and /readyz does not say ok", async () => {
    const first = await start();
    await addShop(first, "http://127.0.0.1:9/");
    const body = { writeKey: "shop-key", userId: "u", event: "Waits" };
    await send(`${first.url}/v1/track`, { method: "POST", body });
    await call(first, "DELETE", "/sources/shop");
    const problem = expect.stringContaining("shop/hooks has no settings, so 1 delivery waits.");
    const readyz = await send(`${first.url}/readyz`);
    expect([readyz.status, readyz.json()]).toMatchObject([200, { status: "degraded", problems: [problem] }]);
    const { destinations } = (await call(first, "GET", "/stats")).json() as { destinations: object[] };
    expect(destinations).toContainEqual(
      expect.objectContaining({ destination: "shop/hooks", configured: false, pending: 1 }),
    );
    expect((await call(first, "GET", "/deliveries?state=pending")).json()).toMatchObject({
      deliveries: [{ event: "Waits" }],
    });
    await addShop(first, receiver.url);
    expect((await send(`${first.url}/readyz`)).json()).toMatchObject({ status: "ok" });
    await first.sender.idle();
  });
});

describe("the settings file", () => {
  it.each([
    ["not json", "is not JSON", "ERR_DATA_UNREADABLE"],
    ["[]", "has no list of sources", "ERR_DATA_UNREADABLE"],
    ['{"version":9,"sources":[]}', "newer version", "ERR_DATA_VERSION"],
  ])("that holds %j keeps the server from starting, and is not overwritten", async (text, words, code) => {
    const file = join(data, "settings.json");
    writeFileSync(file, text);
    const started = createServer({ to: receiver.url, port: 0, data });
    await expect(started).rejects.toMatchObject({ code, message: expect.stringContaining(words) });
    expect(readFileSync(file, "utf8")).toBe(text);
  });

  it("is named when its sources are at fault, since no flag or config file has them", async () => {
    const file = join(data, "settings.json");
    const start = (sources: object[], to = receiver.url): Promise<CountersignServer> => {
      writeFileSync(file, JSON.stringify({ version: 1, sources }));
      return createServer({ to, writeKey: "k1", port: 0, data });
    };
    // The first of these is the configured one, which takes its place.
    const others = [
      { name: "default", destinations: [] },
      { name: "shop", destinations: [] },
    ];
    const refused = start([...others, { name: "app", writeKey: "k1", destinations: [] }]);
    await expect(refused).rejects.toMatchObject({
      code: "ERR_DATA_UNREADABLE",
      message: `The settings file ${file} cannot be used. Correct it, or move it away.\n- sources[2].writeKey is also the write key of another source.`,
    });
    await expect(start(others, "ftp://example.com/")).rejects.toMatchObject({ code: "ERR_SETTINGS" });
  });
});
