import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { DeliverySummary } from "@countersign/sender";
import { virtualClock } from "@countersign/sender/testing";
import { createServer, type CountersignServer } from "@countersign/server";
import { expect, it, onTestFinished } from "vitest";

const KIB = 1_024;

interface Receiver {
  readonly url: string;
  /** What it answers: a status and a body. */
  answer: { readonly status: number; readonly body: string };
  /** How often each event arrived. */
  readonly arrived: Map<string, number>;
}

async function startReceiver(): Promise<Receiver> {
  const arrived = new Map<string, number>();
  const server = createHttpServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { event } = JSON.parse(Buffer.concat(chunks).toString()) as { event: string };
      arrived.set(event, (arrived.get(event) ?? 0) + 1);
      response.writeHead(receiver.answer.status).end(receiver.answer.body);
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const receiver: Receiver = { url: `http://127.0.0.1:${port}/`, answer: { status: 204, body: "" }, arrived };
  return receiver;
}

async function start(options: Parameters<typeof createServer>[0]): Promise<CountersignServer> {
  const data = mkdtempSync(join(tmpdir(), "countersign-long-"));
  const server = await createServer({ port: 0, data, ...options });
  onTestFinished(async () => {
    await server.close();
    rmSync(data, { recursive: true, force: true });
  });
  return server;
}

async function recordBatches(server: CountersignServer, count: number): Promise<void> {
  for (let sent = 0; sent < count; sent += 1_000) {
    const batch = Array.from({ length: Math.min(1_000, count - sent) }, (_, n) => ({
      type: "track",
      userId: `u${sent + n}`,
      event: `Before ${sent + n}`,
    }));
    const body = JSON.stringify({ writeKey: "any", batch });
    expect((await fetch(`${server.url}/v1/batch`, { method: "POST", body })).status).toBe(200);
  }
}

async function allDeliveries({ sender }: CountersignServer): Promise<readonly DeliverySummary[]> {
  const all: DeliverySummary[] = [];
  let after: string | undefined;
  do {
    const { deliveries, next } = await sender.summaries({
      limit: 1_000,
      ...(after !== undefined && { after }),
    });
    all.push(...deliveries);
    after = next;
  } while (after !== undefined);
  return all;
}

async function track(server: CountersignServer, event: string): Promise<number> {
  const started = performance.now();
  const body = JSON.stringify({ writeKey: "any", userId: "u", event });
  expect((await fetch(`${server.url}/v1/track`, { method: "POST", body })).status).toBe(200);
  return performance.now() - started;
}

const median = (times: readonly number[]): number => times.toSorted((a, b) => a - b)[times.length >> 1] ?? 0;

it("a list of 1,000 deliveries with 30 attempts of 16 KiB each is small and quick, and holds up nobody else", async () => {
  const receiver = await startReceiver();
  receiver.answer = { status: 503, body: "x".repeat(16 * KIB) };
  const clock = virtualClock();
  // Thirty attempts within the window.
  const retry = { firstDelayMs: 480_000, maxDelayMs: 480_000, minJitter: 1 };
  const server = await start({ to: receiver.url, clock, retry });
  await recordBatches(server, 1_000);
  await clock.advance("4h");
  const list = async (): Promise<{ readonly text: string; readonly ms: number }> => {
    const started = performance.now();
    const text = await (await fetch(`${server.url}/api/deliveries?limit=1000`)).text();
    return { text, ms: performance.now() - started };
  };
  const { text } = await list();
  const { deliveries } = JSON.parse(text) as { deliveries: { attempts: number }[] };
  expect(deliveries).toHaveLength(1_000);
  expect(Math.min(...deliveries.map(({ attempts }) => attempts))).toBeGreaterThanOrEqual(30);
  expect(text.length).toBeLessThan(1_000 * KIB);
  const lists: number[] = [];
  const tracks: number[] = [];
  for (let round = 0; round < 9; round += 1) {
    const [{ ms }, tracked] = await Promise.all([list(), track(server, "Meanwhile")]);
    lists.push(ms);
    tracks.push(tracked);
  }
  expect(median(lists)).toBeLessThan(150);
  expect(median(tracks)).toBeLessThan(50);
});

it("10,000 failed deliveries are sent again by a filter while 100 calls a second arrive: none lost, none twice", async () => {
  const receiver = await startReceiver();
  const server = await start({ to: receiver.url });
  receiver.answer = { status: 400, body: "" };
  await recordBatches(server, 10_000);
  await server.sender.idle();
  expect(await server.sender.count({ state: "failed" })).toBe(10_000);
  receiver.arrived.clear();
  receiver.answer = { status: 204, body: "" };
  const { status, body } = await server.control("POST", "/deliveries/resend", {
    filter: { state: "failed" },
  });
  expect(status).toBe(202);
  const { id } = body as { id: string };
  // On time, whether or not the calls before are answered.
  const calls: Promise<number>[] = [];
  const job = async (): Promise<unknown> => (await server.control("GET", `/resends/${id}`)).body;
  const isRunning = async (): Promise<boolean> => ((await job()) as { state: string }).state === "running";
  while (calls.length < 100 || (await isRunning())) {
    for (let n = 0; n < 10; n += 1) calls.push(track(server, `Meanwhile ${calls.length}`));
    await delay(100);
  }
  await Promise.all(calls);
  const recorded = calls.length;
  await server.sender.idle();
  expect(await job()).toMatchObject({ state: "done", matched: 10_000, resent: 10_000 });
  // An attempt that took too long on a busy machine is made again, so deliveries are counted, and arrivals against attempts.
  const sent = (await allDeliveries(server)).filter(({ state }) => state === "delivered");
  const repeated = sent.flatMap(({ resendOf }) => resendOf ?? []);
  expect([repeated.length, new Set(repeated).size]).toEqual([10_000, 10_000]);
  const fresh = sent.filter(({ resendOf }) => resendOf === undefined).map(({ event }) => event);
  expect([fresh.length, new Set(fresh).size]).toEqual([recorded, recorded]);
  expect(receiver.arrived.size).toBe(10_000 + recorded);
  const arrivals = [...receiver.arrived.values()].reduce((sum, times) => sum + times, 0);
  expect(arrivals).toBe(sent.reduce((sum, { attempts }) => sum + attempts, 0));
});
