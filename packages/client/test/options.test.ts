import { Analytics, VERSION, type AnalyticsOptions } from "@countersign/client";
import { memoryTransport } from "@countersign/client/testing";
import { readFileSync } from "node:fs";
import { inspect } from "node:util";
import { expect, it, onTestFinished } from "vitest";

// What the types refuse, for callers that have none.
const wrong = (options: object): AnalyticsOptions => options;

it.each<[string, unknown, AnalyticsOptions, RegExp]>([
  ["no write key", undefined, {}, /write key/],
  ["an empty write key", " ", {}, /write key/],
  [
    "an unknown option",
    "K",
    wrong({ flushInterval: 1 }),
    /unknown option "flushInterval": it is called flushAfter here, in milliseconds/,
  ],
  [
    "an unknown retry option",
    "K",
    wrong({ retry: { retries: 1 } }),
    /retry \}\): unknown option "retries"\. Known: giveUpAfter, minDelay/,
  ],
  ["options in the place of the write key", { writeKey: "K" }, {}, /new Analytics\(writeKey, options\)/],
  ["options that are no object", "K", [] as never, /takes an options object/],
  ["retry as a number", "K", wrong({ retry: 3 }), /new Analytics\(\{ retry \}\) takes an options object/],
  ["a clock that is null", "K", wrong({ clock: null }), /'clock' must be an object with now\(\).*null/],
  [
    "a transport that is null",
    "K",
    wrong({ transport: null }),
    /'transport' must be an object with send\(\)/,
  ],
  ["ids as text", "K", wrong({ ids: "uuid" }), /'ids' must be a function, not a string/],
  ["random as a number", "K", wrong({ random: 0.5 }), /'random' must be a function, not a number/],
  [
    "a logger in the place of log",
    "K",
    wrong({ log: { info() {} } }),
    /'log' must be a function, not an object/,
  ],
  ["beforeSend as an object", "K", wrong({ beforeSend: {} }), /'beforeSend' must be a function/],
  ["a misspelt option", "K", wrong({ endpont: "x" }), /unknown option "endpont"; did you mean "endpoint"\?/],
  [
    "an option of another case",
    "K",
    wrong({ FlushAt: 1 }),
    /unknown option "FlushAt"; did you mean "flushAt"\?/,
  ],
  [
    "a delay of 0",
    "K",
    { retry: { minDelay: 0 } },
    /'retry.minDelay' must be a whole number of milliseconds from 1/,
  ],
  [
    "a cap below the floor",
    "K",
    { retry: { minDelay: 9, maxDelay: 8 } },
    /'retry.maxDelay' \(8\) must not be below 'retry.minDelay' \(9\)/,
  ],
  ["flushAt 0", "K", { flushAt: 0 }, /'flushAt' must be a whole number from 1 to 2500, not 0/],
  ["flushAt 2501", "K", { flushAt: 2_501 }, /'flushAt'/],
  ["size 1.5", "K", { size: 1.5 }, /'size'/],
  ["size and flushAt", "K", { size: 1, flushAt: 2 }, /another name for 'flushAt'/],
  ["flushAfter 0", "K", { flushAfter: 0 }, /'flushAfter'/],
  ["flushAfter as text", "K", wrong({ flushAfter: "5s" }), /'flushAfter'.*not "5s"/],
  ["a queue too small for a call", "K", { maxQueueBytes: 32_784 }, /'maxQueueBytes' must be .* from 32785/],
  ["an unknown policy", "K", wrong({ whenFull: "block" }), /'whenFull'.*not "block"/],
  ["an endpoint without a scheme", "K", { endpoint: "api.example.com" }, /'endpoint'.*"api.example.com"/],
  ["an ftp endpoint", "K", { endpoint: "ftp://api.example.com" }, /http or https/],
  [
    "an endpoint of a variable that is not set",
    "K",
    wrong({ endpoint: undefined }),
    /^'endpoint' must be an http or https URL, not undefined\.$/,
  ],
  ["credentials in the endpoint", "K", { endpoint: "https://u:p@api.example.com" }, /user name/],
  ["an illegal header", "K", { headers: { "x y": "z" } }, /'headers'/],
  ["a hook that is no function", "K", wrong({ onDrop: true }), /'onDrop' must be a function/],
  [
    "a transport that is a function",
    "K",
    wrong({ transport: fetch }),
    /'transport' must be an object with send\(\): send\(\) is missing/,
  ],
  ["half a clock", "K", wrong({ clock: { now: Date.now } }), /'clock' must be .*schedule\(\) is missing/],
  ["gzip as text", "K", wrong({ gzip: "yes" }), /'gzip' must be true or false/],
  [
    "schemas in place of definitions",
    "K",
    wrong({ events: { Bought: {} } }),
    /'events' must come from defineEvents/,
  ],
  [
    "a definition without a schema",
    "K",
    wrong({ events: { schemas: { A: {} } } }),
    /'events' must come from defineEvents/,
  ],
  ["validateEvents without events", "K", { validateEvents: true }, /needs 'events'/],
])("%s is a TypeError when the client is created", (_, key, options, message) => {
  expect(() => new Analytics(key as string, options)).toThrow(TypeError);
  expect(() => new Analytics(key as string, options)).toThrow(message);
});

it.each([
  ["host", "endpoint"],
  ["dataPlaneUrl", "endpoint"],
  ["path", "endpoint"],
  ["flushInterval", "flushAfter"],
  ["maxEventsInBatch", "flushAt"],
  ["maxRetries", "retry.giveUpAfter"],
  ["retryCount", "retry.giveUpAfter"],
  ["httpRequestTimeout", "requestTimeout"],
  ["timeout", "requestTimeout"],
  ["httpClient", "transport"],
  ["errorHandler", "onDrop"],
  ["enable", "disable"],
  ["before_send", "beforeSend"],
  ["writeKey", "first argument"],
  ["maxInternalQueueSize", "maxQueueSize"],
  ["verbose", "log"],
])("%s, an option of a published client, is refused naming %s", (name, ours) => {
  expect(() => new Analytics("K", { [name]: 1 })).toThrow(TypeError);
  expect(() => new Analytics("K", { [name]: 1 })).toThrow(new RegExp(`unknown option "${name}".*${ours}`));
});

it("maxRetries in retry is refused naming giveUpAfter", () => {
  expect(() => new Analytics("K", wrong({ retry: { maxRetries: 3 } }))).toThrow(
    'unknown option "maxRetries": use retry.giveUpAfter, in milliseconds.',
  );
});

it.each([
  ["https://e.example", "https://e.example/v1/batch"],
  ["https://e.example/", "https://e.example/v1/batch"],
  ["http://127.0.0.1:4010", "http://127.0.0.1:4010/v1/batch"],
  ["https://e.example//", "https://e.example/v1/batch"],
  ["https://e.example/v1", "https://e.example/v1/batch"],
  ["https://e.example/v1/", "https://e.example/v1/batch"],
  ["https://e.example//v1//", "https://e.example/v1/batch"],
  ["https://e.example/v1?region=eu", "https://e.example/v1/batch?region=eu"],
  ["https://e.example/proxy", "https://e.example/proxy/v1/batch"],
  ["https://e.example/proxy/", "https://e.example/proxy/v1/batch"],
  ["https://e.example/proxy/v1", "https://e.example/proxy/v1/batch"],
  ["https://e.example/proxy/v1/", "https://e.example/proxy/v1/batch"],
  ["https://e.example/proxy/v1/batch", "https://e.example/proxy/v1/batch"],
  ["https://e.example/proxyv1", "https://e.example/proxyv1/v1/batch"],
  ["https://e.example/v10/", "https://e.example/v10/v1/batch"],
  ["https://e.example/v1/batch", "https://e.example/v1/batch"],
  ["https://e.example/v1/import", "https://e.example/v1/import"],
  ["https://e.example/v1/batch/?region=eu", "https://e.example/v1/batch/?region=eu"],
])("endpoint %s is asked at %s", async (endpoint, url) => {
  const service = memoryTransport();
  const analytics = new Analytics("K", { endpoint, transport: service });
  analytics.track({ userId: "u1", event: "E" });
  await analytics.close();
  expect(service.requests.map((request) => request.url)).toEqual([url]);
});

it("a runtime without the fetch API is told as such, and not as an illegal header", () => {
  const { Headers } = globalThis;
  Reflect.deleteProperty(globalThis, "Headers");
  onTestFinished(() => void Object.assign(globalThis, { Headers }));
  expect(() => new Analytics("K")).toThrow("Headers is not defined");
});

it("an illegal header is refused without its value, which may be a credential", () => {
  const create = () => new Analytics("K", { headers: { "x-token": "SECRET\u0000" } });
  let error: unknown;
  try {
    create();
  } catch (thrown) {
    error = thrown;
  }
  expect(inspect(error)).toContain("'headers' (x-token) has a name or a value that is not legal in HTTP.");
  expect(inspect(error)).not.toContain("SECRET");
});

it("inspecting a client does not show its write key", () => {
  expect(inspect(new Analytics("SECRET"), { depth: 9, showHidden: true })).not.toContain("SECRET");
  expect(JSON.stringify(new Analytics("SECRET"))).not.toContain("SECRET");
});

it("the version is that of package.json, which has no third-party dependency", () => {
  const manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as object;
  expect(manifest).toMatchObject({ name: "@countersign/client", version: VERSION });
  expect(manifest).toHaveProperty("dependencies", { "@countersign/protocol": "workspace:^" });
  expect(manifest).not.toHaveProperty("peerDependencies");
});
