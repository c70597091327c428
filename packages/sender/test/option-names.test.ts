import {
  createSender,
  createTransport,
  type DeliveryFilter,
  SettingsError,
  type SenderOptions,
  sqliteStore,
  virtualClock,
} from "@countersign/sender";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { openSender } from "./support/open-sender.ts";

const url = "http://127.0.0.1:9/";
const target = (): void => {};
const destinations = [{ endpoints: [{ url }] }];
const sources = [{ name: "shop", destinations }];

/** What creating a sender says. JavaScript and settings files bring anything, so the types are left aside. */
async function refusal(options: unknown): Promise<Error> {
  const error: unknown = await createSender(options as SenderOptions).then(
    async (sender) => {
      await sender.close();
      return new Error("it was created");
    },
    (reason: unknown) => reason,
  );
  if (!(error instanceof TypeError)) throw new Error("no TypeError", { cause: error });
  return error;
}

describe("an option of createSender() that does not exist is refused, with the one that may have been meant", () => {
  test.each<[object, string]>([
    [{ url, secret: "x" }, 'createSender({ url }) has no option "secret": it is called sharedSecret here.'],
    [
      { url, sharedSecert: "x" },
      'createSender({ url }) has no option "sharedSecert"; did you mean sharedSecret?',
    ],
    [
      { url, shared_secret: "x" },
      'createSender({ url }) has no option "shared_secret"; did you mean sharedSecret?',
    ],
    [
      { url, secret: undefined },
      'createSender({ url }) has no option "secret": it is called sharedSecret here.',
    ],
    [{ url, timeout: "1s" }, 'has no option "timeout": it is called attemptTimeout here.'],
    [{ url, blockPrivateNetwork: true }, "did you mean blockPrivateNetworks?"],
    [
      { url, frequency: 7 },
      'createSender({ url }) has no option "frequency". There are url, headers, ca, sharedSecret, store,',
    ],
    [
      { target, secret: "x" },
      'createSender({ target }) has no option "secret": it is called sharedSecret here.',
    ],
    [{ target, Path: "/hooks" }, 'createSender({ target }) has no option "Path"; did you mean path?'],
    [
      { target, ca: "x" },
      'createSender({ target }) has no option "ca". There are target, path, headers, sharedSecret,',
    ],
    [
      { sources, sharedSecret: "x" },
      'has no option "sharedSecret": a destination has it, as sources[0].destinations[0].sharedSecret.',
    ],
    [{ sources, clocks: 1 }, 'createSender({ sources }) has no option "clocks"; did you mean clock?'],
    [
      { url, retry: { firstDelay: 1 } },
      'createSender({ retry }) has no option "firstDelay"; did you mean firstDelayMs?',
    ],
    [{ url, toString: 1 }, 'createSender({ url }) has no option "toString"'],
  ])("%j", async (options, message) => {
    expect((await refusal(options)).message).toContain(message);
  });

  test("any name but those there are, however long", async () => {
    const names = ["url", "headers", "ca", "sharedSecret", "store", "clock", "retry", "attemptTimeout"];
    const known = new Set([...names, "seed", "blockPrivateNetworks", "transport", "target", "sources"]);
    const unknown = fc.string({ maxLength: 5_000 }).filter((name) => !known.has(name));
    await fc.assert(
      fc.asyncProperty(unknown, async (name) => {
        const { message } = await refusal(
          Object.fromEntries([
            ["url", url],
            [name, 1],
          ]),
        );
        expect(message).toContain(`has no option ${JSON.stringify(name)}`);
      }),
      { numRuns: 100 },
    );
  });

  test("is refused by the types too", async () => {
    // @ts-expect-error -- it is called sharedSecret
    await expect(createSender({ url, secret: "x" })).rejects.toThrow(TypeError);
    // @ts-expect-error -- a destination has it
    const misplaced = createSender({ sources: [{ name: "a", destinations: [], sharedSecret: "x" }] });
    await expect(misplaced).rejects.toThrow(SettingsError);
  });
});

describe("a setting that does not exist is refused, saying where it is", () => {
  test.each<[string, object, string]>([
    [
      "of a source",
      { sources: [{ name: "shop", destinations, blockedEvent: ["a"] }] },
      'source "shop": sources[0].blockedEvent is no setting; did you mean blockedEvents?',
    ],
    [
      "of a destination",
      { sources: [{ name: "shop", destinations: [{ endpoints: [{ url }], secret: "x" }] }] },
      'source "shop", destination "webhooks": sources[0].destinations[0].secret is no setting: ' +
        "it is called sharedSecret here.",
    ],
    [
      "of an endpoint",
      { sources: [{ name: "shop", destinations: [{ endpoints: [{ url, sharedSecret: "x" }] }] }] },
      'source "shop", destination "webhooks", endpoint 1: sources[0].destinations[0].endpoints[0].sharedSecret ' +
        "is no setting: its destination has it.",
    ],
    [
      "of an endpoint, like nothing there is",
      { sources: [{ name: "shop", destinations: [{ endpoints: [{ url, method: "PUT" }] }] }] },
      "endpoints[0].method is no setting. There are url, headers, ca.",
    ],
  ])("%s", async (_name, settings, expected) => {
    const error = await refusal(settings);
    expect(error).toBeInstanceOf(SettingsError);
    expect(error.message).toContain(expected);
  });

  test("by configure() too, and the old settings stay", async () => {
    const sender = await openSender({ sources });
    const misspelt = { sources, source: [] };
    expect(() => sender.configure(misspelt)).toThrow("source is no setting; did you mean sources?");
    expect(sender.settings).toEqual({ sources });
    sender.configure(sender.settings);
  });

  test("all of them at once", async () => {
    const endpoints = [
      { url, a: 1 },
      { url: `${url}2`, b: 2 },
    ];
    const error = await refusal({ sources: [{ name: "shop", destinations: [{ endpoints, c: 3 }], d: 4 }] });
    expect(error).toMatchObject({ issues: { length: 4 } });
  });
});

describe("what does not say where messages go is told how to", () => {
  const example = 'createSender({ url: "https://example.com/hooks" }) for one endpoint';

  test.each<[string, unknown, string]>([
    [
      "nothing",
      undefined,
      "createSender() must be told where messages go. Give it a url, a target or sources",
    ],
    ["null", null, example],
    ["an empty object", {}, example],
    ["a list", [url], example],
    ["a number", 4010, example],
    ["a secret alone", { sharedSecret: "x" }, example],
    [
      "a url that is undefined",
      { url: undefined },
      "Its url is undefined. Give it a url, a target or sources",
    ],
    ["a target that is null", { target: null }, "Its target is null."],
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
      { url, target },
      "createSender({ url, target }) is given 2 ways to say where messages go: leave all but one out.",
    ],
  ])("%s", async (_name, options, message) => {
    expect((await refusal(options)).message).toContain(message);
  });
});

describe("other options that do not exist are refused", () => {
  // Callers in plain JavaScript get no help from the types.
  const untyped = (options: object): object => options;

  test("of sqliteStore()", () => {
    expect(() => sqliteStore(untyped({ keepfor: "1h" }))).toThrow(
      'sqliteStore() has no option "keepfor"; did you mean keepFor?',
    );
    expect(() => sqliteStore(untyped({ filename: "x" }))).toThrow("it is called path here");
    // @ts-expect-error -- no options
    expect(() => sqliteStore("data/deliveries.db")).toThrow("sqliteStore() takes its options as an object");
  });

  test("of virtualClock(), which takes a time", () => {
    for (const start of [{ start: 0 }, null, true]) {
      // @ts-expect-error -- no time
      expect(() => virtualClock(start)).toThrow("virtualClock() takes the time it starts at");
    }
  });

  test("of createTransport()", () => {
    expect(() => createTransport(untyped({ blockPrivateNetwork: true }))).toThrow(
      'createTransport() has no option "blockPrivateNetwork"; did you mean blockPrivateNetworks?',
    );
  });

  test("of expect(), inject(), close(), deliveries(), deleteUser() and calls", async () => {
    const sender = await openSender({ url });
    expect(() => sender.expect({}, untyped({ timeout: 1 }))).toThrow(
      'sender.expect() has no option "timeout": it is called within here.',
    );
    expect(() => sender.inject("reset", untyped({ messageID: "m1" }))).toThrow(
      'inject() has no option "messageID"; did you mean messageId?',
    );
    expect(() => sender.inject("reset", untyped({ url }))).toThrow("it is called endpoint here");
    expect(() => sender.close(untyped({ timeout: 1 }))).toThrow("it is called deadline here");
    await expect(sender.deliveries(untyped({ stat: "failed" }) as DeliveryFilter)).rejects.toThrow(
      'deliveries() has no option "stat"; did you mean state?',
    );
    await expect(sender.deliveries(untyped({ userId: "u1" }))).rejects.toThrow("it is called identity here");
    await expect(sender.deleteUser("u1", untyped({ source: "shop" }))).rejects.toThrow(
      "it is called sources here",
    );
    await expect(sender.track({ userId: "u1", event: "e" }, untyped({ sources: "shop" }))).rejects.toThrow(
      'has no option "sources"; did you mean source?',
    );
    expect(await sender.deliveries()).toEqual([]);
    await sender.close({});
  });
});
