import {
  CloseError,
  createSender,
  createTransport,
  sqliteStore,
  type AttemptResult,
  type Transport,
} from "@countersign/sender";
import { createTestSender, virtualClock } from "@countersign/sender/testing";
import { describeValue } from "@countersign/protocol";
import { join } from "node:path";
import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { openSender } from "./support/open-sender.ts";
import { QueueStore } from "./support/queue-store.ts";
import { silentTransport } from "./support/silent-transport.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";
import { countTicks } from "./support/ticks.ts";

const ENDPOINT_URL = "http://127.0.0.1:9/";
const USER = { userId: "u1", event: "e" };

const GOOD: AttemptResult = {
  outcome: "success",
  status: 200,
  durationMs: 1,
  responseBody: new Uint8Array(),
};

/** A transport whose `send` does what it must not. */
function brokenTransport(send: () => unknown): Transport {
  return { send: send as Transport["send"], close: () => Promise.resolve() };
}

describe("a transport that breaks its contract gives an outcome, and the delivery is tried again", () => {
  it.each<[string, () => unknown, string, string]>([
    [
      "rejects",
      () => Promise.reject(new Error("no route")),
      "ERR_TRANSPORT",
      "the transport failed: no route",
    ],
    [
      "rejects as fetch does",
      () => Promise.reject(new TypeError("fetch failed")),
      "ERR_TRANSPORT",
      "the transport failed: fetch failed",
    ],
    [
      "rejects with a code",
      () => Promise.reject(Object.assign(new Error("refused"), { code: "ECONNREFUSED" })),
      "ECONNREFUSED",
      "the transport failed: refused",
    ],
    ["rejects with a text", () => Promise.reject("down"), "ERR_TRANSPORT", "the transport failed: down"],
    [
      "throws",
      () => {
        throw new Error("broken");
      },
      "ERR_TRANSPORT",
      "the transport failed: broken",
    ],
    [
      "resolves to nothing",
      () => Promise.resolve(undefined),
      "ERR_TRANSPORT",
      "the transport failed: the result is undefined",
    ],
    ...(
      [
        ["outcome", "delivered", "one of success, server_error, timeout, network, rejected, tls"],
        ["responseBody", "ok", "bytes, in a Uint8Array"],
        ["responseBody", new ArrayBuffer(2), "bytes, in a Uint8Array"],
        ["durationMs", undefined, "a finite number of milliseconds"],
        ["durationMs", Number.NaN, "a finite number of milliseconds"],
        ["status", "200", "a number"],
        ["message", new Error("no route"), "a text"],
        ["retryAfter", 30, "a text"],
        ["responseHeaders", "a: b", "an object"],
        ["responseHeaders", { "content-length": 2 }, "an object of texts"],
        ["earlier", {}, "a list of results"],
      ] as const
    ).map(([field, value, what]): [string, () => unknown, string, string] => [
      `resolves to a result whose ${field} is ${inspect(value).split("\n", 1)[0]}`,
      () => Promise.resolve({ ...GOOD, [field]: value }),
      "ERR_TRANSPORT",
      `the transport failed: the result's ${field} must be ${what}, not ${describeValue(value)}`,
    ]),
  ])("%s", async (_name, send, code, message) => {
    const clock = virtualClock();
    let attempts = 0;
    const transport = brokenTransport(() => (++attempts === 1 ? send() : Promise.resolve(GOOD)));
    const sender = await openSender({ url: ENDPOINT_URL, clock, transport });

    const receipt = await sender.track(USER);
    await clock.advance("1m");
    const delivery = await sender.expect(receipt).delivered();

    expect(delivery.attempts).toMatchObject([
      { outcome: "network", code, message, response: "" },
      { outcome: "success" },
    ]);
    expect((await sender.stats()).endpoints[0]?.outcomes).toMatchObject({ network: 1, success: 1 });
  });
});

it("what a transport leaves out as null, or gives as a list, is a result", async () => {
  const headers = { "set-cookie": ["a=topsecret", "b=2"], server: "topsecret" };
  const absent = { code: null, message: null, retryAfter: null, fault: null, requestHeaders: null };
  const transport = brokenTransport(() => Promise.resolve({ ...GOOD, ...absent, responseHeaders: headers }));
  const sender = await openSender({ url: ENDPOINT_URL, secret: "topsecret", transport });
  const { attempts } = await sender.expect(await sender.track(USER)).delivered();
  expect(attempts).toHaveLength(1);
  expect(attempts[0]).toMatchObject({ outcome: "success", response: "" });
  expect(attempts[0]?.responseHeaders).toEqual({ "set-cookie": "a=(hidden),b=2", server: "(hidden)" });
});

it("a transport that aborts attempts by itself has them tried again when the schedule says, not at once", async () => {
  const aborted: AttemptResult = { ...GOOD, outcome: "network", status: undefined, code: "ERR_ABORTED" };
  const clock = virtualClock();
  let attempts = 0;
  // Without an end, where the next attempt is made at once.
  const transport = brokenTransport(() => Promise.resolve(++attempts < 50 ? aborted : GOOD));
  const sender = await openSender({ url: ENDPOINT_URL, clock, transport });
  const receipt = await sender.track(USER);
  await clock.advance(0);
  expect(attempts).toBe(1);
  await clock.advance("4h");
  expect((await sender.expect(receipt).expired()).attempts[0]).toMatchObject({
    outcome: "network",
    code: "ERR_ABORTED",
  });
});

it("an endpoint that has accepted counts when the attempt at another one is aborted by closing", async () => {
  const path = join(temporaryFolder(), "deliveries.db");
  const silent = silentTransport();
  const transport: Transport = {
    ...silent,
    send: (request, options) =>
      request.url.endsWith("accepts") ? Promise.resolve(GOOD) : silent.send(request, options),
  };
  const endpoints = ["accepts", "hangs"].map((name) => ({ url: ENDPOINT_URL + name }));
  const sources = [{ name: "shop", destinations: [{ endpoints }] }];
  const first = await openSender({ sources, transport, store: sqliteStore({ path }) });
  const receipt = await first.track(USER);
  await new Promise((resolve) => setImmediate(resolve));
  await first.close({ deadline: 200 });
  const second = await openSender({ sources, transport, store: sqliteStore({ path }) });
  const { attempts } = await second.expect(receipt).delivered();
  expect(attempts.map(({ endpoint }) => endpoint)).toEqual([`${ENDPOINT_URL}accepts`]);
});

it("a transport whose holdBack() throws gives an outcome, too, and no rejection that ends the process", async () => {
  const clock = virtualClock();
  const transport: Transport = {
    ...brokenTransport(() => Promise.resolve(GOOD)),
    holdBack() {
      throw new Error("broken");
    },
  };
  const sender = await openSender({ url: ENDPOINT_URL, clock, transport });
  const receipt = await sender.track(USER);
  await clock.advance("1m");
  const { attempts } = await sender.expect(receipt).delivered();
  expect(attempts).toMatchObject([
    { outcome: "network", code: "ERR_TRANSPORT", message: "the transport failed: broken" },
    { outcome: "success" },
  ]);
});

/**
 * How long `close()` takes, in milliseconds, and whether this process runs for longer than `latestMs` meanwhile: other work of the machine
 * may hold it up.
 */
async function closingTime(
  close: () => Promise<void>,
  latestMs: number,
): Promise<{ ms: number; isLate: boolean; error: unknown }> {
  const ticked = countTicks();
  const startedAt = performance.now();
  const error: unknown = await close().then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return { ms: performance.now() - startedAt, isLate: ticked() >= latestMs, error };
}

describe("close() keeps its deadline", () => {
  it("when attempts, transport and store all hang: it bounds the whole, not each", async () => {
    class StuckStore extends QueueStore {
      override close(): Promise<void> {
        return new Promise(() => {});
      }
    }
    const transport: Transport = { send: () => new Promise(() => {}), close: () => new Promise(() => {}) };
    const sender = await createSender({ url: ENDPOINT_URL, store: new StuckStore(), transport });
    await sender.track(USER);

    const { ms, isLate, error } = await closingTime(() => sender.close({ deadline: "1s" }), 1_800);

    expect(error).toMatchObject({ message: expect.stringContaining("was left behind") as string });
    expect(ms).toBeGreaterThan(900);
    expect(isLate).toBe(false);
  });

  it("when an attempt ignores its abort signal; the delivery continues at the next start", async () => {
    const store = sqliteStore();
    const transport = brokenTransport(() => new Promise(() => {}));
    const sender = await createSender({ url: ENDPOINT_URL, store, transport });
    const receipt = await sender.track(USER);
    const settled = receipt.settled().catch((error: unknown) => error);

    const { ms, isLate, error } = await closingTime(() => sender.close({ deadline: "400ms" }), 5_000);

    expect(error).toBeUndefined();
    expect(ms).toBeGreaterThan(250);
    expect(isLate).toBe(false);
    expect(await settled).toMatchObject({ code: "ERR_SENDER_CLOSED" });
  });

  it.each([["down"], [{ message: "down" }]])(
    "with an error that names the transport, when that throws what is no error: %j",
    async (thrown) => {
      // What other people's code throws is not always an error.
      const close = (): Promise<never> => Promise.reject(thrown);
      const sender = await createSender({ url: ENDPOINT_URL, transport: { ...silentTransport(), close } });
      const { error } = await closingTime(() => sender.close({ deadline: 0 }), 6_000);
      expect(error).toBeInstanceOf(CloseError);
      expect(error).toMatchObject({
        code: "ERR_CLOSE_FAILED",
        part: "transport",
        message: expect.stringContaining("close(): the transport failed: "),
        cause: thrown,
      });
    },
  );

  it("when the transport does not close, and says so", async () => {
    const transport: Transport = { ...silentTransport(), close: () => new Promise(() => {}) };
    const sender = await createSender({ url: ENDPOINT_URL, transport });

    const { isLate, error } = await closingTime(() => sender.close({ deadline: 0 }), 6_000);

    expect(error).toMatchObject({
      code: "ERR_CLOSE_LATE",
      part: "transport",
      message: "close(): the transport did not close by the deadline and was left behind.",
    });
    expect(isLate).toBe(false);
  });

  it("when the store does not close, and says so; the transport is still closed", async () => {
    class StuckStore extends QueueStore {
      override close(): Promise<void> {
        return new Promise(() => {});
      }
    }
    let closed = 0;
    const transport: Transport = {
      ...silentTransport(),
      close() {
        closed += 1;
        return Promise.resolve();
      },
    };
    const sender = await createSender({ url: ENDPOINT_URL, store: new StuckStore(), transport });

    const { isLate, error } = await closingTime(() => sender.close({ deadline: 0 }), 6_000);

    expect(error).toMatchObject({
      code: "ERR_CLOSE_LATE",
      part: "store",
      message: "close(): the store did not close by the deadline and was left behind.",
    });
    expect(isLate).toBe(false);
    expect(closed).toBe(1);
  });

  it("when the target holds a request, whose connection is cut", async () => {
    const sender = await createTestSender({ target: () => {} });
    await sender.track(USER);

    const { isLate, error } = await closingTime(() => sender.close({ deadline: "100ms" }), 5_000);

    expect(error).toBeUndefined();
    expect(isLate).toBe(false);
  });

  it("and closes everything else when the transport fails to close", async () => {
    const path = ":memory:";
    const store = sqliteStore({ path });
    const transport: Transport = { ...silentTransport(), close: () => Promise.reject(new Error("busy")) };
    const sender = await createSender({ url: ENDPOINT_URL, store, transport });

    await expect(sender.close()).rejects.toThrow("busy");

    await expect(store.counts()).rejects.toMatchObject({ code: "ERR_STORE_CLOSED" });
  });
});

describe("what is injected is checked for its shape when the sender is created", () => {
  const clock = virtualClock();
  const transport = silentTransport();

  it.each<[string, object, string]>([
    [
      "a clock without hold()",
      { clock: { ...clock, hold: undefined } },
      "({ clock }) must be an object with now(), schedule(), hold(): hold() is missing.",
    ],
    ["a clock that is a function", { clock: Date.now }, "({ clock }) must be an object with now()"],
    ["a clock that is null", { clock: null }, "({ clock }) must be an object with"],
    ["a store without traits()", { store: { ...sqliteStore(), traits: undefined } }, "traits() is missing."],
    ["a path as the store", { store: "data/deliveries.db" }, "({ store }) must be an object with open()"],
    [
      "a transport without close()",
      { transport: { ...transport, close: undefined } },
      "({ transport }) must be an object with send(), close(): close() is missing.",
    ],
    ["a fetch as the transport", { transport: fetch }, "send() is missing"],
    ["a seed of another kind", { seed: {} }, "({ seed }) must be a text or a number, not an object."],
  ])("%s", async (_name, option, message) => {
    for (const [name, create] of Object.entries({ createSender, createTestSender })) {
      const error: unknown = await create({ url: ENDPOINT_URL, ...option }).catch(
        (reason: unknown) => reason,
      );
      expect(error).toBeInstanceOf(TypeError);
      expect(String(error)).toContain(message.startsWith("(") ? `${name}${message}` : message);
    }
  });

  it("of createTransport()", () => {
    // @ts-expect-error -- a text is not a function
    expect(() => createTransport({ resolveHost: "8.8.8.8" })).toThrow(
      "createTransport({ resolveHost }) must be a function",
    );
  });
});
