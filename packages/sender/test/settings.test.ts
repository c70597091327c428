import {
  createSender,
  type EngineOptions,
  SettingsError,
  type SenderSettings,
  type SourceSettings,
  sqliteStore,
  type Transport,
} from "@countersign/sender";
import { virtualClock } from "@countersign/sender/testing";
import { createHmac } from "node:crypto";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { openSender } from "./support/open-sender.ts";
import { startReceiver } from "./support/receiver.ts";
import { silentTransport } from "./support/silent-transport.ts";

const ENDPOINT_URL = "https://example.com/hooks";

/** What is said of settings that are wrong. Files and forms bring anything, so the types are left aside. */
async function problemsOf(settings: unknown): Promise<readonly string[]> {
  const error: unknown = await createSender(settings as SenderSettings).catch((error: unknown) => error);
  if (!(error instanceof SettingsError))
    throw new Error(`not refused with a SettingsError: ${String(error)}`);
  expect(error).toBeInstanceOf(TypeError);
  return error.issues.map(({ path, where, problem }) => `${where}: ${path} ${problem}`);
}

const endpoint = (fields: object): unknown => ({
  sources: [{ name: "shop", destinations: [{ endpoints: [{ url: ENDPOINT_URL, ...fields }] }] }],
});
const destination = (fields: object): unknown => ({
  sources: [{ name: "shop", destinations: [{ endpoints: [{ url: ENDPOINT_URL }], ...fields }] }],
});
const GUESSABLE =
  'must not be white space, "undefined", "null" or the name of a variable: set the variable that it comes from.';
const WHERE = 'source "shop", destination "webhooks"';
const at = `${WHERE}, endpoint 1: sources[0].destinations[0].endpoints[0]`;

describe("settings that are wrong", () => {
  it.each<[string, unknown, string]>([
    ["no sources", { sources: [] }, ": sources must list at least one source."],
    ["sources of another kind", { sources: {} }, ": sources must list at least one source."],
    [
      "a source that is null",
      { sources: [null] },
      "source 1: sources[0].name must be a non-empty string without slashes",
    ],
    [
      "a slash in a name",
      { sources: [{ name: "a/b", destinations: [] }] },
      "source 1: sources[0].name must be",
    ],
    [
      "no endpoint",
      destination({ endpoints: [] }),
      `${WHERE}: sources[0].destinations[0].endpoints must list at least one endpoint.`,
    ],
    [
      "a sixth URL",
      destination({ endpoints: [1, 2, 3, 4, 5, 6].map((n) => ({ url: ENDPOINT_URL + n })) }),
      `${WHERE}: sources[0].destinations[0].endpoints has 6 endpoints; a destination may have 5.`,
    ],
    [
      "the same URL twice",
      destination({ endpoints: [{ url: ENDPOINT_URL }, { url: ENDPOINT_URL }] }),
      `${WHERE}, endpoint 2: sources[0].destinations[0].endpoints[1].url is listed twice`,
    ],
    [
      "an empty secret",
      destination({ secret: "" }),
      `${WHERE}: sources[0].destinations[0].secret must be a non-empty string`,
    ],
    [
      "a secret from a variable that is not set",
      destination({ secret: undefined }),
      `${WHERE}: sources[0].destinations[0].secret is undefined: set the variable that it comes from, or leave it out`,
    ],
    [
      "a write key from a variable that is not set, in place of which the name would let everybody in",
      { sources: [{ name: "shop", writeKey: undefined, destinations: [] }] },
      'source "shop": sources[0].writeKey is undefined: set the variable that it comes from, or leave it out',
    ],
    [
      "a secret of white space",
      destination({ secret: " \t" }),
      `${WHERE}: sources[0].destinations[0].secret ${GUESSABLE}`,
    ],
    [
      "a secret that a variable without a value became",
      destination({ secret: "undefined" }),
      `${WHERE}: sources[0].destinations[0].secret ${GUESSABLE}`,
    ],
    [
      "a secret that is a variable in quotes",
      destination({ secret: "${WEBHOOK_SECRET}" }),
      `${WHERE}: sources[0].destinations[0].secret ${GUESSABLE}`,
    ],
    [
      "enabled of another kind",
      destination({ enabled: "yes" }),
      `${WHERE}: sources[0].destinations[0].enabled must be true or false.`,
    ],
    [
      "a concurrency of 0",
      destination({ concurrency: 0 }),
      `${WHERE}: sources[0].destinations[0].concurrency must be a whole number`,
    ],
    ["no URL", endpoint({ url: undefined }), `${at}.url must be a full URL`],
    ["a relative URL", endpoint({ url: "/hooks" }), `${at}.url must be a full URL`],
    [
      "ftp:",
      endpoint({ url: "ftp://example.com" }),
      `${at}.url must start with http:// or https://, not ftp:`,
    ],
    [
      "a password in the URL",
      endpoint({ url: "https://me:pw@example.com" }),
      `${at}.url must not contain a user name or password`,
    ],
    [
      "a header with a newline",
      endpoint({ headers: { "X-A": "a\r\nX-B: b" } }),
      `${at}.headers["X-A"] has a value with a line break`,
    ],
    [
      "a header name that is none",
      endpoint({ headers: { "X A": "a" } }),
      `${at}.headers["X A"] is not a valid header name.`,
    ],
    [
      "a header value that is no string",
      endpoint({ headers: { "X-A": 1 } }),
      `${at}.headers["X-A"] must have a string as its value.`,
    ],
    [
      "a header value that cannot be made a string",
      endpoint({ headers: { "X-A": { toString: 1 } } }),
      `${at}.headers["X-A"] must have a string as its value.`,
    ],
    [
      "a URL that cannot be made a string",
      endpoint({ url: { toString: 1 } }),
      `${at}.url must be a full URL`,
    ],
    [
      "a reserved header",
      endpoint({ headers: { "x-SIGNATURE": "a" } }),
      `${at}.headers["x-SIGNATURE"] is set by the sender itself`,
    ],
    [
      "a framing header",
      endpoint({ headers: { "Transfer-Encoding": "chunked" } }),
      `${at}.headers["Transfer-Encoding"] is set by the sender itself`,
    ],
    [
      "a header twice",
      endpoint({ headers: { "X-A": "a", "x-a": "b" } }),
      `${at}.headers["x-a"] is listed twice`,
    ],
    ["headers of another kind", endpoint({ headers: ["X-A: a"] }), `${at}.headers must be an object`],
    [
      "a ca that is a path",
      endpoint({ ca: "/etc/ca.pem" }),
      `${at}.ca cannot be used: ca contains no PEM certificate`,
    ],
    ["a ca of another kind", endpoint({ ca: 1 }), `${at}.ca must be certificates in PEM`],
    [
      "two sources of one name",
      {
        sources: [
          { name: "a", destinations: [] },
          { name: "a", destinations: [], writeKey: "b" },
        ],
      },
      'source 2: sources[1].name is "a", which another one has already',
    ],
    [
      "two sources of one write key",
      {
        sources: [
          { name: "a", destinations: [] },
          { name: "b", destinations: [], writeKey: "a" },
        ],
      },
      'source "b": sources[1].writeKey is also the write key of another source.',
    ],
    [
      "a write key that a variable did not give",
      { sources: [{ name: "a", destinations: [], writeKey: "" }] },
      'source "a": sources[0].writeKey must be a non-empty string.',
    ],
    [
      "a write key of another kind",
      { sources: [{ name: "a", destinations: [], writeKey: 4010 }] },
      'source "a": sources[0].writeKey must be a non-empty string.',
    ],
    [
      "blocked events of another kind",
      { sources: [{ name: "a", destinations: [], blockedEvents: "x" }] },
      'source "a": sources[0].blockedEvents must be a list of event names.',
    ],
    [
      "the short form, with a variable that is not set",
      { url: ENDPOINT_URL, secret: undefined },
      'source "default", destination "webhooks": sources[0].destinations[0].secret is undefined',
    ],
    [
      "the short form, wrong",
      { url: "nope", secret: "" },
      'source "default", destination "webhooks": sources[0].destinations[0].secret',
    ],
  ])("%s", async (_name, settings, expected) => {
    const problems = await problemsOf(settings);
    expect(problems.find((problem) => problem.startsWith(expected))).toBeDefined();
  });

  it.each([
    ["User-Agent", "Content-Type", "X-Signature", "Host", "Content-Length", "Content-Encoding"],
    [
      "Transfer-Encoding",
      "Connection",
      "Keep-Alive",
      "Proxy-Connection",
      "TE",
      "Trailer",
      "Upgrade",
      "Expect",
    ],
  ])(
    "an endpoint's own headers cannot be those that the sender or HTTP writes: %s, %s, %s, ...",
    async (...names) => {
      const headers = Object.fromEntries(names.map((name) => [name, "a"]));
      expect(await problemsOf(endpoint({ headers }))).toEqual(
        names.map((name) => `${at}.headers["${name}"] is set by the sender itself and cannot be given.`),
      );
    },
  );

  it.each(["http://Hooks.example", "http://hooks.example:80/", "http://hooks.example/#a"])(
    "%s is the same endpoint as http://hooks.example/",
    async (other) => {
      const endpoints = [{ url: "http://hooks.example/" }, { url: other }];
      const settings = { sources: [{ name: "shop", destinations: [{ endpoints }] }] };
      expect(await problemsOf(settings)).toEqual([expect.stringContaining("[1].url is listed twice")]);
    },
  );

  it("every problem is named at once, in the message too", async () => {
    const wrong = {
      sources: [
        { name: "shop", destinations: [{ secret: "", endpoints: [{ url: "ftp://x" }, { url: "y" }] }] },
      ],
    };
    expect(await problemsOf(wrong)).toHaveLength(3);
    await expect(createSender(wrong)).rejects.toThrow(/endpoint 1.*\n.*endpoint 2/);
  });

  it.each<[string, object]>([
    ["attemptTimeout", { attemptTimeout: "soon" }],
    ["attemptTimeout of 0, which would end every attempt at once", { attemptTimeout: 0 }],
    ["retry", { retry: { windowMs: -1 } }],
    ["retry with a window whose end no Date can hold", { retry: { windowMs: Number.MAX_SAFE_INTEGER } }],
    ["retry with an unknown field", { retry: { window: 1 } }],
    ["retry with too much jitter", { retry: { minJitter: 2 } }],
  ])("an option that is wrong is a TypeError: %s", async (_name, option) => {
    await expect(createSender({ url: ENDPOINT_URL, ...option })).rejects.toThrow(TypeError);
  });

  it.each<[string, () => EngineOptions]>([
    ["attemptTimeout of 1 ms", () => ({ attemptTimeout: 1 })],
    ["the smallest maxBytes that the error tells", () => ({ store: sqliteStore({ maxBytes: 262_144 }) })],
    ["the largest maxBytes in memory", () => ({ store: sqliteStore({ maxBytes: 1_000_000_000 }) })],
  ])("an option at its limit is taken: %s", async (_name, option) => {
    const sender = await openSender({ url: ENDPOINT_URL, transport: silentTransport(), ...option() });
    expect((await sender.track({ userId: "u1", event: "Signed Up" })).deliveries).toHaveLength(1);
  });

  it.each<[string, () => unknown]>([
    ["keepFor", () => sqliteStore({ keepFor: -1 })],
    ["maxBytes", () => sqliteStore({ maxBytes: 1 })],
    ["maxBytes beyond what memory can have", () => sqliteStore({ maxBytes: 2_000_000_000 })],
    ["a path that is a URL", () => sqliteStore({ path: "https://example.com/db" })],
    ["an empty path", () => sqliteStore({ path: "" })],
    ["the start of a clock", () => virtualClock("noon")],
  ])("a part that is made wrongly is a TypeError: %s", (_name, make) => {
    expect(make).toThrow(TypeError);
  });
});

describe("settings that change while running", () => {
  const to = (target: string, fields: object = {}): SenderSettings => ({
    sources: [{ name: "shop", destinations: [{ endpoints: [{ url: target }], ...fields }] }],
  });

  it("the next attempt goes by the new settings, with the same bytes", async () => {
    const receiver = await startReceiver(({ path }) => ({ status: path === "/old" ? 503 : 200 }));
    const clock = virtualClock();
    const sender = await openSender({ ...to(`${receiver.url}old`), clock });
    await sender.track({ userId: "u1", event: "Signed Up" });
    await clock.advance("1s");
    sender.configure(to(`${receiver.url}new`, { secret: "secret" }));
    await clock.advance("1m");
    await sender.idle();
    expect(receiver.received.map(({ path }) => path)).toEqual(["/old", "/new"]);
    expect(receiver.received.map(({ headers }) => "x-signature" in headers)).toEqual([false, true]);
    expect(receiver.received[0]?.body).toBe(receiver.received[1]?.body);
  });

  it("a retry is signed with the secret as it is then", async () => {
    const receiver = await startReceiver(() => ({ status: 503 }));
    const clock = virtualClock();
    const sender = await openSender({ ...to(receiver.url, { secret: "old" }), clock });
    await sender.track({ userId: "u1", event: "Signed Up" });
    await clock.advance("1s");
    sender.configure(to(receiver.url, { secret: "new" }));
    await clock.advance("5s");
    const signed = receiver.received.map(({ headers, body }) => [headers["x-signature"], body]);
    expect(signed).toEqual(
      ["old", "new"].map((secret, index) => [
        createHmac("sha1", secret)
          .update(receiver.received[index]?.body ?? "")
          .digest("hex"),
        receiver.received[0]?.body,
      ]),
    );
  });

  it("twenty deliveries are in progress at once, unless the destination says another number", async () => {
    const transport = silentTransport();
    const calls: string[] = [];
    const counting: Transport = {
      ...transport,
      send(request, options) {
        calls.push(request.url);
        return transport.send(request, options);
      },
    };
    const sender = await openSender({ ...to(ENDPOINT_URL), transport: counting });
    await Promise.all(Array.from({ length: 30 }, () => sender.track({ userId: "u1", event: "e" })));
    await expect.poll(() => calls.length).toBe(20);
    // Whatever else was due has had its turn.
    await sender.track({ userId: "u1", event: "e" });
    expect(calls).toHaveLength(20);
  });

  it("deliveries that are pending when a destination is disabled or removed wait until it is back", async () => {
    const receiver = await startReceiver(() => ({ status: 503 }));
    const clock = virtualClock();
    const sender = await openSender({ ...to(receiver.url), clock });
    await sender.track({ userId: "u1", event: "Signed Up" });
    await clock.advance("1s");
    expect(receiver.received).toHaveLength(1);

    receiver.answer = () => ({ status: 200 });
    sender.configure(to(receiver.url, { enabled: false }));
    expect(await sender.track({ userId: "u1", event: "Meanwhile" })).toMatchObject({
      skipped: "no_destination",
      deliveries: [],
    });
    await sender.idle();
    await clock.advance("10m");
    sender.configure({ sources: [{ name: "other", destinations: [] }] });
    await clock.advance("10m");
    expect(receiver.received).toHaveLength(1);
    expect((await sender.stats()).destinations).toMatchObject([
      { destination: "shop/webhooks", enabled: false, pending: 1 },
    ]);

    sender.configure(to(receiver.url));
    await sender.idle();
    expect(receiver.received).toHaveLength(2);
  });

  it("a destination that is disabled and enabled at once does not send deliveries in progress twice", async () => {
    let answerFirst: (() => void) | undefined;
    const held = new Promise<void>((resolve) => (answerFirst = resolve));
    const receiver = await startReceiver(async () => {
      await held;
      return { status: 200 };
    });
    const sender = await openSender(to(receiver.url));
    const arrived = new Promise<void>((resolve) => sender.once("attempt", () => resolve()));
    await sender.track({ userId: "u1", event: "Signed Up" });
    sender.configure(to(receiver.url, { enabled: false }));
    sender.configure(to(receiver.url, { concurrency: 3 }));
    sender.configure(to(receiver.url));
    await sender.track({ userId: "u1", event: "Next" });
    answerFirst?.();
    await arrived;
    await sender.idle();
    // Each on a connection of its own.
    expect(receiver.received.map(({ message }) => message["event"]).toSorted()).toEqual([
      "Next",
      "Signed Up",
    ]);
  });

  it("an endpoint added while the others reject is tried in the next round", async () => {
    const receiver = await startReceiver(({ path }) => {
      if (path === "/new") return { status: 200 };
      sender.configure(withEndpoints("old", "new"));
      return { status: 404 };
    });
    const withEndpoints = (...paths: string[]): SenderSettings => ({
      sources: [
        { name: "shop", destinations: [{ endpoints: paths.map((path) => ({ url: receiver.url + path })) }] },
      ],
    });
    const clock = virtualClock();
    const sender = await openSender({ ...withEndpoints("old"), clock });
    const receipt = await sender.track({ userId: "u1", event: "e" });
    await clock.advance("1m");
    expect(await receipt.settled()).toMatchObject([{ state: "delivered" }]);
    expect(receiver.received.map(({ path }) => path)).toEqual(["/old", "/new"]);
  });

  const shop = (number: number, url = ENDPOINT_URL): SourceSettings => ({
    name: `shop-${number}`,
    destinations: [{ endpoints: [{ url }] }],
  });

  it("a change of one source among many checks that one, and leaves the others as they are", async () => {
    const sender = await openSender({
      sources: Array.from({ length: 50 }, (_, number) => shop(number)),
      transport: silentTransport(),
    });
    const before = sender.settings.sources;
    const check = vi.spyOn(URL, "canParse");
    onTestFinished(() => check.mockRestore());
    const other = "https://example.com/other";
    sender.configure({ sources: before.with(7, shop(7, other)) });
    expect(check.mock.calls).toEqual([[other]]);
    const after = sender.settings.sources;
    expect(after[7]).toEqual(shop(7, other));
    expect(after.filter((source, index) => source !== before[index])).toEqual([after[7]]);
  });

  it("a source of the settings cannot be changed in place, where no change would be seen", async () => {
    const sender = await openSender({ ...to(ENDPOINT_URL), transport: silentTransport() });
    const [{ destinations }] = sender.settings.sources as unknown as [{ destinations: object[] }];
    expect(() => Object.assign(destinations[0] ?? {}, { enabled: false })).toThrow(TypeError);
    expect(() => destinations.push({})).toThrow(TypeError);
  });

  it("what a source of the settings has in common with another one is refused, though it was checked before", async () => {
    const sender = await openSender({ sources: [shop(1), shop(2)], transport: silentTransport() });
    const [one, two] = sender.settings.sources as unknown as [SourceSettings, SourceSettings];
    expect(() => sender.configure({ sources: [one, two, one] })).toThrow(
      'sources[2].name is "shop-1", which another one has already.',
    );
    expect(() => sender.configure({ sources: [{ ...shop(3), writeKey: "shop-2" }, one, two] })).toThrow(
      "sources[2].writeKey is also the write key of another source.",
    );
  });

  it("wrong settings are refused and the old ones stay", async () => {
    const receiver = await startReceiver();
    const sender = await openSender(to(receiver.url));
    expect(() => sender.configure(to("nowhere"))).toThrow(SettingsError);
    await sender.track({ userId: "u1", event: "Signed Up" });
    await sender.idle();
    expect(receiver.received).toHaveLength(1);
    expect(sender.settings).toEqual(to(receiver.url));
  });
});
