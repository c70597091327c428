import {
  assertCallable,
  createSender,
  createTransport,
  type DeliveryFilter,
  SettingsError,
  type Sender,
  sqliteStore,
} from "@countersign/sender";
import { createTestSender, virtualClock } from "@countersign/sender/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { openSender } from "./support/open-sender.ts";

const ENDPOINT_URL = "http://127.0.0.1:9/";
const target = (): void => {};
const DESTINATIONS = [{ endpoints: [{ url: ENDPOINT_URL }] }];
const SOURCES = [{ name: "shop", destinations: DESTINATIONS }];

type Create = (options: never) => Promise<Sender>;

/** What creating a sender says. JavaScript and settings files bring anything, so the types are left aside. */
async function refusal(options: unknown, create: Create = createSender): Promise<Error> {
  const error: unknown = await create(options as never).then(
    async (sender) => {
      await sender.close();
      return new Error("it was created");
    },
    (reason: unknown) => reason,
  );
  if (!(error instanceof TypeError)) throw new Error("no TypeError", { cause: error });
  return error;
}

describe("an unknown option is refused, and the one that was probably meant is named", () => {
  it.each<[object, string]>([
    [
      { url: ENDPOINT_URL, sharedSecret: "x" },
      'createSender({ url }): unknown option "sharedSecret": it is called secret here.',
    ],
    [
      { url: ENDPOINT_URL, secrt: "x" },
      'createSender({ url }): unknown option "secrt"; did you mean "secret"?',
    ],
    [
      { url: ENDPOINT_URL, shared_secret: "x" },
      'createSender({ url }): unknown option "shared_secret": it is called secret here.',
    ],
    [
      { url: ENDPOINT_URL, sharedSecret: undefined },
      'createSender({ url }): unknown option "sharedSecret": it is called secret here.',
    ],
    [
      { url: ENDPOINT_URL, timeout: "1s" },
      'unknown option "timeout": it is called attemptTimeout here, in milliseconds, or text such as "5s".',
    ],
    [{ url: ENDPOINT_URL, blockPrivateNetwork: true }, 'did you mean "blockPrivateNetworks"?'],
    [
      { url: ENDPOINT_URL, frequency: 7 },
      'createSender({ url }): unknown option "frequency". Known: url, headers, ca, secret, store,',
    ],
    [
      { sources: SOURCES, secret: "x" },
      'unknown option "secret": a destination has it, as sources[0].destinations[0].secret.',
    ],
    [
      { sources: SOURCES, sharedSecret: "x" },
      'unknown option "sharedSecret": a destination has it, as sources[0].destinations[0].secret.',
    ],
    [
      { sources: SOURCES, clocks: 1 },
      'createSender({ sources }): unknown option "clocks"; did you mean "clock"?',
    ],
    [
      { url: ENDPOINT_URL, retry: { firstDelay: 1 } },
      'createSender({ retry }): unknown option "firstDelay"; did you mean "firstDelayMs"?',
    ],
    [{ url: ENDPOINT_URL, toString: 1 }, 'createSender({ url }): unknown option "toString"'],
    [
      { target },
      'createSender() has no option "target": createTestSender({ target }) of @countersign/sender/testing',
    ],
  ])("createSender(%j)", async (options, message) => {
    expect((await refusal(options)).message).toContain(message);
  });

  it.each<[object, string]>([
    [
      { target, sharedSecret: "x" },
      'createTestSender({ target }): unknown option "sharedSecret": it is called secret here.',
    ],
    [{ target, Path: "/hooks" }, 'createTestSender({ target }): unknown option "Path"; did you mean "path"?'],
    [
      { target, ca: "x" },
      'createTestSender({ target }): unknown option "ca". Known: target, path, headers, secret,',
    ],
    [
      { url: ENDPOINT_URL, secrt: "x" },
      'createTestSender({ url }): unknown option "secrt"; did you mean "secret"?',
    ],
    [
      { url: ENDPOINT_URL, attemptTimeout: "soon" },
      "createTestSender({ attemptTimeout }) must be milliseconds",
    ],
  ])("createTestSender(%j)", async (options, message) => {
    expect((await refusal(options, createTestSender)).message).toContain(message);
  });

  it("every other name, of any length", async () => {
    const names = ["url", "headers", "ca", "secret", "store", "clock", "retry", "attemptTimeout"];
    const known = new Set([...names, "seed", "blockPrivateNetworks", "transport", "target", "sources"]);
    const unknown = fc.string({ maxLength: 5_000 }).filter((name) => !known.has(name));
    await fc.assert(
      fc.asyncProperty(unknown, async (name) => {
        const { message } = await refusal(
          Object.fromEntries([
            ["url", ENDPOINT_URL],
            [name, 1],
          ]),
        );
        expect(message).toContain(
          `unknown option ${JSON.stringify(name.length > 40 ? `${name.slice(0, 40)}…` : name)}`,
        );
      }),
      { numRuns: 100 },
    );
  });

  it("is refused by the types too", async () => {
    // @ts-expect-error -- it is called secret
    await expect(createSender({ url: ENDPOINT_URL, sharedSecret: "x" })).rejects.toThrow(TypeError);
    // @ts-expect-error -- only a test sender takes a target
    await expect(createSender({ target })).rejects.toThrow(TypeError);
    // @ts-expect-error -- a destination has it
    const misplaced = createSender({ sources: [{ name: "a", destinations: [], secret: "x" }] });
    await expect(misplaced).rejects.toThrow(SettingsError);
  });
});

describe("an unknown setting is refused, saying where it is", () => {
  it.each<[string, object, string]>([
    [
      "of a source",
      { sources: [{ name: "shop", destinations: DESTINATIONS, blockedEvent: ["a"] }] },
      'source "shop": sources[0].blockedEvent is an unknown setting; did you mean "blockedEvents"?',
    ],
    [
      "of a destination",
      {
        sources: [
          { name: "shop", destinations: [{ endpoints: [{ url: ENDPOINT_URL }], sharedSecret: "x" }] },
        ],
      },
      'source "shop", destination "webhooks": sources[0].destinations[0].sharedSecret is an unknown setting: ' +
        "it is called secret here.",
    ],
    [
      "of an endpoint",
      { sources: [{ name: "shop", destinations: [{ endpoints: [{ url: ENDPOINT_URL, secret: "x" }] }] }] },
      'source "shop", destination "webhooks", endpoint 1: sources[0].destinations[0].endpoints[0].secret ' +
        "is an unknown setting: its destination has it.",
    ],
    [
      "of an endpoint, near no known one",
      { sources: [{ name: "shop", destinations: [{ endpoints: [{ url: ENDPOINT_URL, method: "PUT" }] }] }] },
      "endpoints[0].method is an unknown setting. Known: url, headers, ca.",
    ],
  ])("%s", async (_name, settings, expected) => {
    const error = await refusal(settings);
    expect(error).toBeInstanceOf(SettingsError);
    expect(error.message).toContain(expected);
  });

  it("by configure() too, and the old settings stay", async () => {
    const sender = await openSender({ sources: SOURCES });
    const misspelt = { sources: SOURCES, source: [] };
    expect(() => sender.configure(misspelt)).toThrow(
      "source is an unknown setting: it is called sources here",
    );
    expect(sender.settings).toEqual({ sources: SOURCES });
    sender.configure(sender.settings);
  });

  it("all of them at once", async () => {
    const endpoints = [
      { url: ENDPOINT_URL, a: 1 },
      { url: `${ENDPOINT_URL}2`, b: 2 },
    ];
    const error = await refusal({ sources: [{ name: "shop", destinations: [{ endpoints, c: 3 }], d: 4 }] });
    expect(error).toMatchObject({ issues: { length: 4 } });
  });
});

describe("an error says how to name where messages go", () => {
  const example = 'createSender({ url: "https://example.com/hooks" }) for one endpoint';

  it("a target that is null", async () => {
    const { message } = await refusal({ target: null }, createTestSender);
    expect(message).toContain("createTestSender() needs to know where messages go. Its target is null.");
    expect(message).toContain("Give it your app as target: createTestSender({ target: app }).");
  });

  it.each<[string, unknown, string]>([
    ["nothing", undefined, "createSender() needs to know where messages go. Give it a url or sources"],
    ["null", null, example],
    ["an empty object", {}, example],
    ["a list", [ENDPOINT_URL], example],
    ["a number", 4010, example],
    ["a secret alone", { secret: "x" }, example],
    ["a url that is undefined", { url: undefined }, "Its url is undefined. Give it a url or sources"],
    ["sources that are undefined", { sources: undefined }, "Its sources is undefined."],
    [
      "a text",
      "https://example.com/hooks",
      'createSender() takes an object: createSender({ url: "https://example.com/hooks" }).',
    ],
    [
      "a URL",
      new URL("https://example.com/hooks"),
      'createSender() takes an object: createSender({ url: "https://example.com/hooks" }).',
    ],
    [
      "two ways at once",
      { url: ENDPOINT_URL, sources: SOURCES },
      "createSender({ url, sources }) says 2 times where messages go. Keep one of them.",
    ],
  ])("%s", async (_name, options, message) => {
    expect((await refusal(options)).message).toContain(message);
  });
});

describe("other unknown options are refused", () => {
  // Callers in plain JavaScript get no help from the types.
  const untyped = (options: object): object => options;

  it("of sqliteStore()", () => {
    expect(() => sqliteStore(untyped({ keepfor: "1h" }))).toThrow(
      'sqliteStore(): unknown option "keepfor"; did you mean "keepFor"?',
    );
    expect(() => sqliteStore(untyped({ filename: "x" }))).toThrow("it is called path here");
    // @ts-expect-error -- no options
    expect(() => sqliteStore("data/deliveries.db")).toThrow("sqliteStore() takes an options object");
  });

  it("of virtualClock(), which takes a time", () => {
    for (const start of [{ start: 0 }, null, true]) {
      // @ts-expect-error -- no time
      expect(() => virtualClock(start)).toThrow("virtualClock() starts at milliseconds");
    }
  });

  it("of createTransport()", () => {
    expect(() => createTransport(untyped({ blockPrivateNetwork: true }))).toThrow(
      'createTransport(): unknown option "blockPrivateNetwork"; did you mean "blockPrivateNetworks"?',
    );
  });

  it.each<[string, (options: never) => unknown]>([
    ["createTransport", createTransport],
    ["assertCallable", (options) => assertCallable("localhost", "127.0.0.1", options)],
  ])("blockPrivateNetworks of %s() in text, which would block nothing", (name, call) => {
    const options = { blockPrivateNetworks: "true" };
    expect(() => call(options as never)).toThrow(
      `${name}({ blockPrivateNetworks }) must be true or false, not "true".`,
    );
  });

  it.each<[string, Create]>([
    ["createSender", createSender],
    ["createTestSender", createTestSender],
  ])(
    "blockPrivateNetworks of %s() in text, or with a transport, which would ignore it",
    async (name, create) => {
      const given = { url: ENDPOINT_URL, blockPrivateNetworks: "true" };
      expect((await refusal(given, create)).message).toBe(
        `${name}({ blockPrivateNetworks }) must be true or false, not "true".`,
      );
      const transport = createTransport();
      const both = { url: ENDPOINT_URL, transport, blockPrivateNetworks: true };
      expect((await refusal(both, create)).message).toContain(
        "Pass blockPrivateNetworks to createTransport(), or leave transport out.",
      );
      await transport.close();
    },
  );

  it("of expect(), inject(), close(), deliveries(), deleteUser(), syncs and calls", async () => {
    const sender = await openSender({ url: ENDPOINT_URL });
    expect(() => sender.expect({}, untyped({ timeout: 1 }))).toThrow(
      'sender.expect(): unknown option "timeout": it is called within here, in milliseconds, or text such as "5s".',
    );
    expect(() => sender.inject("reset", untyped({ messageID: "m1" }))).toThrow(
      'inject(): unknown option "messageID"; did you mean "messageId"?',
    );
    expect(() => sender.inject("reset", untyped({ url: ENDPOINT_URL }))).toThrow(
      "it is called endpoint here",
    );
    expect(() => sender.close(untyped({ timeout: 1 }))).toThrow("it is called deadline here");
    await expect(sender.deliveries(untyped({ stat: "failed" }) as DeliveryFilter)).rejects.toThrow(
      'deliveries(): unknown option "stat"; did you mean "state"?',
    );
    await expect(sender.deliveries(untyped({ userId: "u1" }))).rejects.toThrow("it is called identity here");
    await expect(sender.deleteUser("u1", untyped({ source: "shop" }))).rejects.toThrow(
      "it is called sources here",
    );
    await expect(sender.track({ userId: "u1", event: "e" }, untyped({ sources: "shop" }))).rejects.toThrow(
      'unknown option "sources"; did you mean "source"?',
    );
    const misspelt = untyped({ sorce: "shop" });
    for (const sync of [
      () => sender.syncAudience("Big Spenders", ["u1"], misspelt),
      () => sender.syncComputedTrait("Order Count", { u1: 1 }, misspelt),
    ]) {
      await expect(sync()).rejects.toThrow('unknown option "sorce"; did you mean "source"?');
    }
    expect(await sender.deliveries()).toEqual([]);
    await sender.close({});
  });
});
