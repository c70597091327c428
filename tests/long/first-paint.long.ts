import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { missing, startBrowser } from "../support/browser.ts";
import { buildSite } from "../site/build-site.ts";
import { serveFolder, type FileServer } from "../site/serve-folder.ts";

const PAGES = ["/", "/start/", "/guides/401", "/packages/sender/", "/reference/options", "/signature-bench"];
const ROUNDS = 7;
const LIMIT_MS = 500;

/** Runs in the page. */
const FIRST_PAINT = `new Promise((resolve) => {
  new PerformanceObserver((list) => {
    const [entry] = list.getEntriesByName("first-contentful-paint");
    if (entry) resolve(entry.startTime);
  }).observe({ type: "paint", buffered: true });
})`;

let folder: string;
let site: FileServer;
let browser: Browser;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "countersign-site-"));
  await buildSite(folder);
  site = await serveFolder(folder);
  if (!missing) browser = await startBrowser();
}, 600_000);

afterAll(async () => {
  await browser?.close();
  await site?.close();
  await rm(folder, { recursive: true, force: true });
});

/** How long after the request the first text is painted, in a browser that has nothing of the site. */
async function firstPaint(path: string): Promise<number> {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(site.url + path, { waitUntil: "load" });
  const time = await page.evaluate<number>(FIRST_PAINT);
  await context.close();
  return time;
}

it.skipIf(missing)("shows the first text of each page within 500 ms, in the median", async () => {
  for (const path of PAGES) {
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) times.push(await firstPaint(path));
    const median = times.toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? Number.POSITIVE_INFINITY;
    process.stdout.write(`${path}: first paint after ${Math.round(median)} ms\n`);
    expect({ path, isFast: median < LIMIT_MS }).toEqual({ path, isFast: true });
  }
});
