import type { Page } from "playwright-core";
import { virtualClock } from "@countersign/protocol";
import { createServer, type CountersignServer } from "@countersign/server";
import { expect, onTestFinished, vi } from "vitest";
import { SECRET } from "./setting.ts";

/** Deliveries that wait: nothing is sent, so that they are made as fast as they are stored. */
export async function startWithDeliveries(count: number): Promise<CountersignServer> {
  const clock = virtualClock();
  const sources = [
    {
      name: "default",
      writeKey: "default",
      destinations: [
        { name: "webhooks", endpoints: [{ url: "http://127.0.0.1:9/webhooks" }], secret: SECRET },
      ],
    },
  ];
  const server = await createServer({ sources, port: 0, clock });
  onTestFinished(() => server.close({ deadlineMs: 1_000 }));
  // Each attempt ends at once, without a network.
  await server.control("POST", "/faults", { fault: "refused", times: "unlimited" });
  await recordAll(server.url, count);
  await clock.advance(0);
  return server;
}

const BATCH = 500;

/** Records track calls, in batches, as a client does. */
export async function recordAll(url: string, count: number, event = "Product Viewed"): Promise<void> {
  for (let done = 0; done < count; done += BATCH)
    await recordBatch(url, Math.min(BATCH, count - done), event, done);
}

/** One batch. */
export async function recordBatch(url: string, size: number, event: string, from: number): Promise<void> {
  const batch = Array.from({ length: size }, (_, index) => ({
    type: "track",
    userId: `user-${from + index}`,
    event,
    properties: { n: from + index },
  }));
  const response = await fetch(`${url}/v1/batch`, {
    method: "POST",
    body: JSON.stringify({ writeKey: "default", batch }),
  });
  if (!response.ok) throw new Error(await response.text());
}

/** Rows that have a place in the list, by the height that it scrolls over. */
export async function rowsInList(page: Page): Promise<number> {
  return Number(
    await page.evaluate("Math.round(parseFloat(document.querySelector('.rows').style.height) / 36)"),
  );
}

/** Scrolls to the end again and again, until the list has so many rows. */
export async function scrollUntil(page: Page, count: number): Promise<void> {
  const toEnd = `(() => {
    const grid = document.querySelector(".grid");
    grid.scrollTop = grid.scrollHeight;
  })()`;
  await vi.waitFor(
    async () => {
      await page.evaluate(toEnd);
      expect(await rowsInList(page)).toBeGreaterThanOrEqual(count);
    },
    { timeout: 240_000, interval: 20 },
  );
}

/** The bytes that are in use after a collection. */
export async function heapOf(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  await session.detach();
  return usedSize;
}

/** Milliseconds of each frame while the list is scrolled, from the shortest to the longest. */
export async function scrollFrames(page: Page, frames = 120): Promise<readonly number[]> {
  const times = await page.evaluate<number[]>(`new Promise((resolve) => {
    const grid = document.querySelector(".grid");
    const times = [];
    let last = performance.now();
    grid.scrollTop = 0;
    const step = (now) => {
      times.push(now - last);
      last = now;
      grid.scrollTop += 300;
      if (times.length < ${frames}) requestAnimationFrame(step);
      else resolve(times.slice(2));
    };
    requestAnimationFrame(step);
  })`);
  return times.toSorted((a, b) => a - b);
}

/** What was watched. */
interface Watched {
  readonly redraws: number;
  /** The longest task, and how many took longer than a second. */
  readonly longest: number;
  readonly overSecond: number;
}

/** Begins to watch how often the list is redrawn, and the tasks that take long. */
export async function watch(page: Page): Promise<() => Promise<Watched>> {
  await page.evaluate(`(() => {
    globalThis.watched = { redraws: 0, longest: 0, overSecond: 0 };
    new MutationObserver(() => (watched.redraws += 1)).observe(document.querySelector(".rows"), { subtree: true, childList: true });
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) {
        watched.longest = Math.max(watched.longest, duration);
        if (duration > 1_000) watched.overSecond += 1;
      }
    }).observe({ entryTypes: ["longtask"] });
  })()`);
  return async () => page.evaluate<Watched>("watched");
}
