import { readFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { createServer, type CountersignServer } from "@countersign/server";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { missing, startBrowser, why } from "../support/browser.ts";
import { CALLS, type ClientCall } from "./support/calls.ts";
import { expectAllToArrive } from "./support/compare.ts";
import { SECRET, startReceiver, type Receiver } from "./support/receiver.ts";
import { close, listen, openWire, type Wire } from "./support/wire.ts";

const require = createRequire(import.meta.url);
const SCRIPTS: Readonly<Record<string, string>> = {
  "/segment.js": join(dirname(require.resolve("@segment/analytics-next")), "../umd/index.js"),
  "/rudder.js": join(dirname(require.resolve("@rudderstack/analytics-js/bundled")), "../umd/index.js"),
};

let browser: Browser;
beforeAll(async () => {
  if (!missing) browser = await startBrowser();
});
afterAll(() => browser?.close());

interface Stage {
  readonly page: Page;
  readonly wire: Wire;
  readonly server: CountersignServer;
  readonly receiver: Receiver;
  /** What the browser's console said of errors. */
  readonly complaints: readonly string[];
}

/** A page of another origin than the server, with a client library loaded. */
async function openPage(script: string): Promise<Stage> {
  const receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  const server = await createServer({ to: receiver.url, secret: SECRET, port: 0 });
  onTestFinished(() => server.close());
  const wire = await openWire(server.url);
  onTestFinished(() => wire.close());
  const site = createHttpServer((request, response) => {
    const file = SCRIPTS[request.url ?? ""];
    response.setHeader("content-type", file ? "text/javascript" : "text/html");
    response.end(
      file ? readFileSync(file) : `<!doctype html><title>Shop</title><script src="${script}"></script>`,
    );
  });
  const origin = await listen(site);
  onTestFinished(() => close(site));
  const context = await browser.newContext();
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("console", (line) => line.type() === "error" && complaints.push(line.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  await page.goto(`${origin}/shop?a=1`);
  return { page, wire, server, receiver, complaints };
}

async function expectArrival({ wire, receiver, server }: Stage, calls: readonly ClientCall[]): Promise<void> {
  await vi.waitFor(() => expect(wire.messages.length).toBeGreaterThanOrEqual(calls.length), {
    timeout: 40_000,
  });
  await server.sender.idle();
  expect(receiver.problems).toEqual([]);
  expectAllToArrive(calls, wire.messages, receiver.messages);
}

describe.skipIf(missing)(`in a browser${why}`, () => {
  it("@segment/analytics-next: 14 calls arrive with nothing set but cdnURL, a 503 and a 429 in between", async () => {
    const stage = await openPage("/segment.js");
    stage.wire.answers.push({ status: 503 }, { status: 429, headers: { "retry-after": "1" } });
    await stage.page.evaluate(runSegment, { url: stage.wire.url, calls: CALLS });
    await expectArrival(stage, CALLS);
    expect(stage.wire.log.filter((line) => line.endsWith(": 503") || line.endsWith(": 429"))).toHaveLength(2);
    expect(stage.wire.headers.some((headers) => headers["x-retry-count"] !== undefined)).toBe(true);
  });

  it("@rudderstack/analytics-js: 14 calls arrive, a 503 and a 429 in between", async () => {
    const stage = await openPage("/rudder.js");
    stage.wire.answers.push({ status: 503 }, { status: 429, headers: { "retry-after": "1" } });
    await stage.page.evaluate(runRudder, { url: stage.wire.url, calls: RUDDER_CALLS });
    await expectArrival(stage, RUDDER_CALLS);
    expect(stage.wire.headers.some((headers) => headers["anonymousid"] !== undefined)).toBe(true);
  });
});

/** This library has no screen(), and leaves out properties that are null. */
const RUDDER_CALLS = CALLS.map((call): ClientCall => {
  const { type, properties } = call;
  const kept = Object.entries(properties ?? {}).filter(([, value]) => value !== null);
  return {
    ...call,
    type: type === "screen" ? "page" : type,
    ...(properties && { properties: Object.fromEntries(kept) }),
  };
});

interface Run {
  readonly url: string;
  readonly calls: readonly ClientCall[];
}

type Method = (...args: readonly unknown[]) => unknown;
type Client = Readonly<Record<ClientCall["type"], Method>>;

/** Runs in the page. */
async function runSegment({ url, calls }: Run): Promise<void> {
  const { AnalyticsBrowser } = (globalThis as unknown as { AnalyticsNext: SegmentGlobal }).AnalyticsNext;
  const [analytics] = await AnalyticsBrowser.load({ writeKey: "WK", cdnURL: url });
  for (const call of calls) {
    const { context, integrations, timestamp } = call;
    const options = { context, integrations, timestamp };
    if (call.type === "identify") await analytics.identify(call.userId, call.traits, options);
    if (call.type === "track")
      void analytics.track(call.event, call.properties, { ...options, userId: call.userId });
    if (call.type === "page") void analytics.page(call.category, call.name, call.properties, options);
    if (call.type === "screen") void analytics.screen(call.category, call.name, call.properties, options);
    if (call.type === "group") void analytics.group(call.groupId, call.traits, options);
    if (call.type === "alias") void analytics.alias(call.userId, call.previousId, options);
  }
}

interface SegmentGlobal {
  readonly AnalyticsBrowser: { load(settings: object): Promise<[Client]> };
}

/** Runs in the page. */
async function runRudder({ url, calls }: Run): Promise<void> {
  const { RudderAnalytics } = (globalThis as unknown as { rudderanalytics: RudderGlobal }).rudderanalytics;
  const analytics = new RudderAnalytics();
  analytics.load("WK", url, { configUrl: `${url}/v1`, useBeacon: false });
  await new Promise<void>((resolve) => analytics.ready(resolve));
  for (const call of calls) {
    const { context, integrations, timestamp: originalTimestamp } = call;
    const options = { ...context, integrations, originalTimestamp };
    if (call.type === "identify") analytics.identify(call.userId, call.traits, options);
    if (call.type === "track") analytics.track(call.event, call.properties, options);
    if (call.type === "page") analytics.page(call.category, call.name, call.properties, options);
    if (call.type === "group") analytics.group(call.groupId, call.traits, options);
    if (call.type === "alias") analytics.alias(call.userId, call.previousId, options);
  }
}

interface RudderGlobal {
  readonly RudderAnalytics: new () => Client & {
    load(writeKey: string, url: string, options: object): void;
    ready(callback: () => void): void;
  };
}
