import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Browser, BrowserContext, CDPSession, Page, Request } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, vi } from "vitest";
import { missing, startBrowser } from "../../../../tests/support/browser.ts";

export { browserPath, FLAGS, missing, why } from "../../../../tests/support/browser.ts";

/** How a page is opened. */
export interface View {
  readonly width?: number;
  readonly height?: number;
  readonly scheme?: "light" | "dark";
  /** Colours that the system forces upon pages. */
  readonly forcedColors?: "active" | "none";
  /** Whether the person wants less motion. Default: `reduce`. */
  readonly motion?: "reduce" | "no-preference";
  /** Time that a test advances, by `page.clock`. */
  readonly clock?: boolean;
  /** Whether its context is its own, so that a test may change it and open tabs in it, and so is its process. */
  readonly alone?: boolean;
  /** Script that runs before that of the page. */
  readonly init?: string;
  /** Errors on the console that belong to the test. */
  readonly expected?: RegExp;
}

const require = createRequire(import.meta.url);
let axeSource: string | undefined;
let browser: Browser | undefined;
let shared: Shared | undefined;
const errors: string[] = [];

/**
 * The context in which tests have their first page, one after another. A page stays open in it, so that its process does, too:
 * those that are opened beside it take two fifths of the processors' time that a process of their own takes.
 */
interface Shared {
  readonly context: BrowserContext;
  readonly session: CDPSession;
}

/** Whatever the port is, an address of this host is of the same site: Chromium has one process for all of a context. */
const SITE = "http://127.0.0.1/";

async function startShared(): Promise<Shared> {
  const context = await newContext();
  const stays = await context.newPage();
  await stays.route(SITE, (route) => route.fulfill({ contentType: "text/html", body: "" }));
  await stays.goto(SITE);
  return { context, session: await context.newCDPSession(stays) };
}

/** Closes the pages of a test, and removes what they have kept. */
async function clear({ context, session }: Shared): Promise<void> {
  for (const page of context.pages().slice(1)) await page.close();
  await session.send("Storage.clearDataForOrigin", { origin: "*", storageTypes: "all" });
  await context.clearCookies();
}

/** The browser of this file. */
function theBrowser(): Browser {
  if (!browser) throw new Error("no browser was started");
  return browser;
}

/** Starts one browser for all tests of a file. Anything on the console, and every violation of the policy, fails the test. */
export function useBrowser(): void {
  beforeAll(async () => {
    if (missing) return;
    browser = await startBrowser(["--renderer-process-limit=1"]);
    shared = await startShared();
  });
  afterAll(() => browser?.close());
  afterEach(async () => {
    const told = errors.splice(0);
    for (const context of browser?.contexts() ?? []) if (context !== shared?.context) await context.close();
    if (shared) await clear(shared);
    expect([...told, ...errors.splice(0)]).toEqual([]);
  });
}

/** Requests of a page that have not ended, its stream apart, and how many there were. */
interface Asked {
  readonly open: Set<Request>;
  count: number;
}

const asked = new WeakMap<Page, Asked>();

function follow(page: Page): void {
  const requests: Asked = { open: new Set(), count: 0 };
  asked.set(page, requests);
  page.on("request", (request) => {
    if (request.url().includes("/api/events")) return;
    requests.count += 1;
    requests.open.add(request);
  });
  const end = (request: Request): unknown => requests.open.delete(request);
  page.on("requestfinished", end);
  page.on("requestfailed", end);
}

/** Some turns of a page, in which it asks for what an answer leads to. */
const TURNS = `(async () => {
  for (let turn = 0; turn < 10; turn += 1)
    await new Promise((resolve) => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = resolve;
      port2.postMessage(0);
    });
})()`;

/**
 * Waits until a page has its stream, or wants a token for it, and has read all that it wants. When the stream opens late, the page
 * reads again what it shows; what came before the list was counted is in its number already.
 *
 * @param held What the test holds up.
 */
export async function settled(page: Page, held?: RegExp): Promise<void> {
  await page.getByText("Live", { exact: true }).or(page.getByLabel("Token")).first().waitFor();
  await vi.waitFor(async () => {
    const { count = 0 } = asked.get(page) ?? {};
    await page.evaluate(TURNS);
    const { open = [], count: now = 0 } = asked.get(page) ?? {};
    const left = [...open].map((request) => request.url()).filter((url) => held?.test(url) !== true);
    expect([now, left]).toEqual([count, []]);
  });
}

async function newContext(): Promise<BrowserContext> {
  const context = await theBrowser().newContext({
    viewport: { width: 1280, height: 800 },
    reducedMotion: "reduce",
    timezoneId: "UTC",
    locale: "en-GB",
  });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  return context;
}

/** Opens a page, and waits until it has settled. Two pages that are open at the same time share nothing. What goes wrong in it fails the test. */
export async function openPage(
  url: string,
  {
    width = 1280,
    height = 800,
    scheme = "light",
    forcedColors = "none",
    motion = "reduce",
    init,
    clock = false,
    alone = clock,
    expected,
  }: View = {},
): Promise<Page> {
  const isFree = shared?.context.pages().length === 1;
  const context = shared && isFree && !alone ? shared.context : await newContext();
  if (clock) await context.clock.install();
  const page = await context.newPage();
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme: scheme, forcedColors, reducedMotion: motion });
  if (init !== undefined) await page.addInitScript(init);
  // As `PATIENT` of vitest.shared.ts: a wait ends with what it waits for.
  page.setDefaultTimeout(25_000);
  follow(page);
  page.on("console", (message) => {
    if (message.type() === "error" && !expected?.test(message.text())) errors.push(message.text());
  });
  page.on("pageerror", (error) => errors.push(String(error)));
  await page.goto(url);
  if (url !== "about:blank") await settled(page);
  return page;
}

/** What axe-core has, of which this is used. */
interface Axe {
  getRules(tags: readonly string[]): readonly { readonly ruleId: string; readonly tags: readonly string[] }[];
  run(options: object): Promise<{
    readonly violations: readonly {
      readonly id: string;
      readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
    }[];
  }>;
}

const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/**
 * What axe-core finds wrong on a page, as short lines.
 *
 * @param tag Looks only by the rules that have this tag, too.
 */
export async function violations(page: Page, tag?: string): Promise<readonly string[]> {
  if (!(await page.evaluate("'axe' in globalThis"))) {
    axeSource ??= readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
    await page.evaluate(axeSource);
  }
  return page.evaluate(
    async ({ tags, tag }) => {
      const { axe } = globalThis as unknown as { axe: Axe };
      // By their names, axe-core also runs those that it takes for experimental.
      const named = axe
        .getRules(tags)
        .filter((rule) => rule.tags.includes(tag ?? "") && !rule.tags.includes("experimental"))
        .map(({ ruleId }) => ruleId);
      if (tag !== undefined && named.length === 0) throw new Error(`No rule has the tag ${tag}.`);
      const runOnly = tag === undefined ? { type: "tag", values: tags } : { type: "rule", values: named };
      const { violations } = await axe.run({ runOnly });
      return violations.flatMap(({ id, nodes }) =>
        nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
      );
    },
    { tags: TAGS, tag },
  );
}
