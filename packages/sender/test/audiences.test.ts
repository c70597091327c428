import { type Sender, type SenderSettings, sqliteStore } from "@countersign/sender";
import { virtualClock } from "@countersign/sender/testing";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openSender } from "./support/open-sender.ts";
import { type Received, startReceiver } from "./support/receiver.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const users = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, index) => `user ${from + index}`);
const traitOf = ({ message }: Received): unknown => [message["userId"], message["traits"]];

describe("audiences", () => {
  it("an audience of 10,000, then 20 joining and 10 leaving, and nothing again right after a restart", async () => {
    const path = join(temporaryFolder(), "deliveries.db");
    const receiver = await startReceiver();
    // Storing 10,000 holds a busy machine up for seconds: none of the calls that were begun times out then.
    const open = (): Promise<Sender> =>
      openSender({ url: receiver.url, store: sqliteStore({ path }), attemptTimeout: "1m" });
    const first = await open();
    const created = await first.syncAudience("Big Spenders", users(0, 10_000));
    expect(created.changed).toHaveLength(10_000);
    await first.idle();
    expect(receiver.received).toHaveLength(10_000);
    expect(new Set(receiver.received.map(({ message }) => message["userId"])).size).toBe(10_000);
    expect(receiver.received.every(({ message }) => message["type"] === "identify")).toBe(true);
    expect(receiver.received.every(({ body }) => body.includes('"traits":{"big_spenders":true}'))).toBe(true);
    receiver.received.length = 0;

    const changed = await first.syncAudience("Big Spenders", users(10, 10_020));
    expect(changed.changed).toEqual(users(10_000, 10_020));
    expect(changed.removed).toEqual(users(0, 10));
    expect(await changed.settled()).toHaveLength(30);
    expect(receiver.received.map(traitOf).toSorted()).toEqual(
      [
        ...users(10_000, 10_020).map((user) => [user, { big_spenders: true }]),
        ...users(0, 10).map((user) => [user, { big_spenders: false }]),
      ].toSorted(),
    );
    await first.close();

    const second = await open();
    const again = await second.syncAudience("Big Spenders", users(10, 10_020));
    expect(again).toMatchObject({ changed: [], removed: [], deliveries: [] });
    const left = await second.syncAudience("Big Spenders", users(11, 10_020));
    await left.settled();
    expect(receiver.received).toHaveLength(31);
    expect(receiver.received.map(traitOf).at(-1)).toEqual(["user 10", { big_spenders: false }]);
  }, 180_000);

  it("two syncs at once run one after the other", async () => {
    const receiver = await startReceiver();
    const sender = await openSender({ url: receiver.url });
    const [first, second] = await Promise.all([
      sender.syncAudience("Everyone", ["a", "b"]),
      sender.syncAudience("Everyone", ["b", "c"]),
    ]);
    expect(first.changed).toEqual(["a", "b"]);
    expect(second).toMatchObject({ changed: ["c"], removed: ["a"] });
  });

  it("membership and messages are stored together or not at all", async () => {
    const path = join(temporaryFolder(), "deliveries.db");
    const receiver = await startReceiver();
    const small = await openSender({ url: receiver.url, store: sqliteStore({ path, maxBytes: 1_000_000 }) });
    await expect(small.syncAudience("Everyone", users(0, 10_000))).rejects.toMatchObject({
      code: "ERR_STORE_FULL",
    });
    expect(await small.deliveries()).toEqual([]);
    await small.close();
    const roomy = await openSender({ url: receiver.url, store: sqliteStore({ path }) });
    expect((await roomy.syncAudience("Everyone", users(0, 50))).changed).toHaveLength(50);
    expect(receiver.received.length).toBeLessThanOrEqual(50);
  });

  it("without an enabled destination nothing counts as known", async () => {
    const receiver = await startReceiver();
    const settings = (enabled: boolean): SenderSettings => ({
      sources: [{ name: "shop", destinations: [{ endpoints: [{ url: receiver.url }], enabled }] }],
    });
    const sender = await openSender(settings(false));
    expect(await sender.syncAudience("Everyone", ["a"])).toMatchObject({
      skipped: "no_destination",
      changed: [],
    });
    sender.configure(settings(true));
    expect(await sender.syncAudience("Everyone", ["a"])).toMatchObject({ changed: ["a"] });
  });

  it("an invalid sync changes nothing", async () => {
    const receiver = await startReceiver();
    const sender = await openSender({ url: receiver.url });
    await expect(sender.syncAudience("Everyone", ["a", ""])).rejects.toMatchObject({
      code: "ERR_FIELD_MISSING",
    });
    await expect(sender.syncAudience("?!", ["a"])).rejects.toMatchObject({ field: "name" });
    await sender.idle();
    expect(receiver.received).toEqual([]);
    expect(await sender.syncAudience("Everyone", ["a"])).toMatchObject({ changed: ["a"] });
  });

  it.each([
    ["Big Spenders", "big_spenders"],
    ["VIP Users 2024", "vip_users_2024"],
    ["highValueUSCustomer", "high_value_us_customer"],
    ["  spaces -- and/dashes ", "spaces_and_dashes"],
    ["Größte Käufer", "größte_käufer"],
    ["already_snake", "already_snake"],
  ])("%j is sent as %s", async (name, trait) => {
    const receiver = await startReceiver();
    const sender = await openSender({ url: receiver.url });
    await (await sender.syncAudience(name, ["a"])).settled();
    expect(receiver.received[0]?.message["traits"]).toEqual({ [trait]: true });
  });
});

describe("members of another kind are refused and remove nobody", () => {
  it.each<[string, unknown]>([
    ["undefined", undefined],
    ["null", null],
    ["a text, which would be a user for each letter", "u1"],
    ["a number", 7],
    ["an object", { u1: true }],
  ])("%s", async (_name, members) => {
    const sender = await openSender({ url: "http://127.0.0.1:9/", clock: virtualClock() });
    await sender.syncAudience("VIP", ["u1", "u2"]);

    await expect(sender.syncAudience("VIP", members as string[])).rejects.toThrow(
      /^syncAudience\(\) takes the members as a list, a Set or another iterable of userIds, not .+ Pass \[\] to remove every member\.$/,
    );

    expect(await sender.syncAudience("VIP", new Set(["u1", "u2"]))).toMatchObject({
      changed: [],
      removed: [],
    });
    expect((await sender.syncAudience("VIP", [])).removed).toEqual(["u1", "u2"]);
  });

  it.each<[string, unknown]>([
    ["undefined", undefined],
    ["a text", "u1"],
    ["a list", [["u1", 1]]],
    ["a Set", new Set(["u1"])],
  ])("values of a computed trait: %s", async (_name, values) => {
    const sender = await openSender({ url: "http://127.0.0.1:9/", clock: virtualClock() });
    await expect(sender.syncComputedTrait("LTV", values as Record<string, unknown>)).rejects.toThrow(
      "syncComputedTrait() takes the values as a Map or an object of userId and value, not",
    );
    expect(await sender.deliveries()).toEqual([]);
  });
});

describe("two names with one snake_case form do not overwrite each other", () => {
  it("the second is refused and the error names the first, even after a restart", async () => {
    const path = join(temporaryFolder(), "deliveries.db");
    const receiver = await startReceiver();
    const open = (): Promise<Sender> => openSender({ url: receiver.url, store: sqliteStore({ path }) });
    const first = await open();
    await first.syncAudience("Big Spenders", ["a"]);
    const taken = {
      name: "CallError",
      code: "ERR_NAME_TAKEN",
      field: "name",
      message:
        'syncAudience("big-spenders"): its trait big_spenders belongs to the audience "Big Spenders". Choose another name.',
    };

    await expect(first.syncAudience("big-spenders", ["b"])).rejects.toMatchObject(taken);
    await expect(first.syncComputedTrait("Big Spenders", { a: 1 })).rejects.toMatchObject({
      code: "ERR_NAME_TAKEN",
      message: expect.stringContaining('belongs to the audience "Big Spenders"') as string,
    });
    await first.close();

    const second = await open();
    await expect(second.syncAudience("big-spenders", ["b"])).rejects.toMatchObject(taken);
    expect(await second.syncAudience("Big Spenders", ["a"])).toMatchObject({ changed: [], removed: [] });
    await second.syncComputedTrait("Lifetime Value", { a: 1 });
    await expect(second.syncAudience("lifetimeValue", ["a"])).rejects.toMatchObject({
      message: expect.stringContaining('belongs to the computed trait "Lifetime Value"') as string,
    });
    await second.idle();
    expect(receiver.received).toHaveLength(2);
  });

  it("of two at once, one is refused", async () => {
    const sender = await openSender({ url: "http://127.0.0.1:9/", clock: virtualClock() });
    const results = await Promise.allSettled([
      sender.syncAudience("Big Spenders", ["a"]),
      sender.syncAudience("BIG SPENDERS", ["b"]),
    ]);
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
  });

  it("the same name in two sources is two names", async () => {
    const destinations = [{ endpoints: [{ url: "http://127.0.0.1:9/" }] }];
    const sources = ["shop", "blog"].map((name) => ({ name, destinations }));
    const sender = await openSender({ sources, clock: virtualClock() });
    await sender.syncAudience("Big Spenders", ["a"], { source: "shop" });
    expect((await sender.syncAudience("big spenders", ["a"], { source: "blog" })).changed).toEqual(["a"]);
  });
});

describe("a destination that is enabled after the first sync", () => {
  const destination = (name: string, enabled: boolean, url: string): object => ({
    name,
    enabled,
    endpoints: [{ url: `${url}${name}` }],
  });
  const settings = (url: string, old: boolean, late: boolean): SenderSettings =>
    ({
      sources: [
        { name: "shop", destinations: [destination("old", old, url), destination("late", late, url)] },
      ],
    }) as SenderSettings;
  const to = (received: readonly Received[], path: string): unknown[] =>
    received
      .filter((one) => one.path === path)
      .map(({ message }) => [message["userId"], Object.values(message["traits"] as object)[0]]);

  it("gets every member with the next sync, and the others get only what changed", async () => {
    const receiver = await startReceiver();
    const sender = await openSender(settings(receiver.url, true, false));
    await (await sender.syncAudience("VIP", ["a", "b"])).settled();
    sender.configure(settings(receiver.url, true, true));

    const sync = await sender.syncAudience("VIP", ["b", "c"]);
    await sync.settled();

    expect(to(receiver.received, "/old").toSorted()).toEqual(
      [
        ["a", false],
        ["a", true],
        ["b", true],
        ["c", true],
      ].toSorted(),
    );
    expect(to(receiver.received, "/late").toSorted()).toEqual([
      ["b", true],
      ["c", true],
    ]);
    expect(sync.changed.toSorted()).toEqual(["b", "c"]);
    expect(sync.removed).toEqual(["a"]);
    expect(await sender.syncAudience("VIP", ["b", "c"])).toMatchObject({ deliveries: [] });
  });

  it("that was disabled for a while gets what it missed, removals too", async () => {
    const receiver = await startReceiver();
    const sender = await openSender(settings(receiver.url, true, true));
    await (await sender.syncAudience("VIP", ["a", "b"])).settled();
    sender.configure(settings(receiver.url, true, false));
    await (await sender.syncAudience("VIP", ["b", "c"])).settled();
    sender.configure(settings(receiver.url, true, true));
    receiver.received.length = 0;

    await (await sender.syncAudience("VIP", ["b", "c"])).settled();

    expect(to(receiver.received, "/old")).toEqual([]);
    expect(to(receiver.received, "/late").toSorted()).toEqual([
      ["a", false],
      ["c", true],
    ]);
  });

  it("gets the values of a computed trait that the next sync names", async () => {
    const receiver = await startReceiver();
    const sender = await openSender(settings(receiver.url, true, false));
    await (await sender.syncComputedTrait("LTV", { a: 1, b: 2 })).settled();
    sender.configure(settings(receiver.url, true, true));
    receiver.received.length = 0;

    await (
      await sender.syncComputedTrait(
        "LTV",
        new Map([
          ["a", 1],
          ["b", 3],
        ]),
      )
    ).settled();

    expect(to(receiver.received, "/old")).toEqual([["b", 3]]);
    expect(to(receiver.received, "/late").toSorted()).toEqual([
      ["a", 1],
      ["b", 3],
    ]);
  });
});

it("users whose names differ only after a NUL are two users", async () => {
  const sender = await openSender({ url: "http://127.0.0.1:9/", clock: virtualClock() });
  const members = ["a\0b", "a\0c", "a"];
  expect((await sender.syncAudience("VIP", members)).changed).toEqual(members);
  expect(await sender.syncAudience("VIP", members)).toMatchObject({ changed: [], removed: [] });
});

describe("what no store could tell from others is refused, and nothing is stored", () => {
  it.each<[string, string, readonly string[]]>([
    ["userId", "VIP", ["u1", "\uD800", "\uD801"]],
    ["name", "VIP \uD800", ["u1"]],
    ["name", "V".repeat(256), ["u1"]],
  ])("a %s of %j with %j", async (field, name, members) => {
    const sender = await openSender({ url: "http://127.0.0.1:9/", clock: virtualClock() });
    const refused = { code: "ERR_FIELD_INVALID", field };
    await expect(sender.syncAudience(name, members)).rejects.toMatchObject(refused);
    const values = new Map(members.map((userId) => [userId, 1]));
    await expect(sender.syncComputedTrait(name, values)).rejects.toMatchObject(refused);
    expect(await sender.deliveries()).toEqual([]);
  });

  it("but not a name of 255 characters, nor a character of two surrogates", async () => {
    const sender = await openSender({ url: "http://127.0.0.1:9/", clock: virtualClock() });
    const name = `\u{1F600}${"V".repeat(253)}`;
    for (const changed of [["\u{1F600}"], []])
      expect(await sender.syncAudience(name, ["\u{1F600}"])).toMatchObject({ changed });
  });
});

describe("computed traits", () => {
  it.each<[string, unknown]>([
    ["a function", () => 1],
    ["a BigInt", 1n],
  ])("%s is refused and nothing is stored", async (_, value) => {
    const sender = await openSender({ url: "http://127.0.0.1:9/", clock: virtualClock() });
    await expect(sender.syncComputedTrait("Trait", { a: 1, b: value })).rejects.toMatchObject({
      name: "CallError",
      code: "ERR_NOT_SERIALIZABLE",
      message: expect.stringContaining('user "b"') as string,
    });
    expect(await sender.deliveries()).toEqual([]);
  });

  it("only changed values are sent; null removes a trait; users that are not named keep theirs", async () => {
    const receiver = await startReceiver();
    const sender = await openSender({ url: receiver.url, clock: virtualClock() });
    const sync = async (values: Record<string, unknown>): Promise<unknown[]> => {
      receiver.received.length = 0;
      await (await sender.syncComputedTrait("Lifetime Value", values)).settled();
      return receiver.received.map(traitOf).toSorted();
    };
    expect(await sync({ a: 1, b: "x", c: { deep: [1] } })).toEqual([
      ["a", { lifetime_value: 1 }],
      ["b", { lifetime_value: "x" }],
      ["c", { lifetime_value: { deep: [1] } }],
    ]);
    expect(await sync({ a: 1, b: "y", c: { deep: [1] } })).toEqual([["b", { lifetime_value: "y" }]]);
    expect(await sync({ a: null })).toEqual([["a", { lifetime_value: null }]]);
    expect(await sync({ a: null, b: "y" })).toEqual([]);
    expect(await sync({ a: 1 })).toEqual([["a", { lifetime_value: 1 }]]);
  });
});
