import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { missing, startBrowser, why } from "../support/browser.ts";
import { buildSite } from "./build-site.ts";
import { serveFolder, type FileServer } from "./serve-folder.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Pages of each kind: the front page, the chooser, a guide with tables, a README, an API page, a code, the bench. */
const PAGES = [
  "/",
  "/start/",
  "/guides/401",
  "/packages/express/",
  "/api/@countersign/express",
  "/errors/",
  "/reference/options",
  "/reference/operations",
  "/signature-bench",
];

/** What a newcomer asks, and the page that must be among the first three results. */
const QUESTIONS: readonly (readonly [question: string, page: string])[] = [
  ["401 behind express.json", "/guides/401"],
  ["rotate secret", "/guides/rotation"],
  ["raw body Next.js", "/guides/next"],
  ["body parser", "/guides/proxies"],
  ["retry schedule", "/reference/retries"],
  ["duplicate delivery", "/guides/idempotency"],
  ["redis dedupe", "/packages/redis/"],
  ["aws lambda", "/guides/aws-lambda"],
  ["vitest", "/guides/testing"],
  ["virtual clock", "/guides/testing"],
  ["junit", "/guides/ci"],
  ["multiple tenants", "/guides/tenants"],
  ["segment analytics-node", "/guides/moving-over"],
  ["flush at exit", "/packages/client/"],
  ["seven messages", "/reference/messages"],
  ["zod schema event", "/packages/express/"],
  ["nestjs guard", "/packages/nestjs/"],
  ["forged request test", "/guides/testing"],
  ["countersign serve", "/cli"],
  ["signature bench", "/signature-bench"],
];

let folder: string;
let site: FileServer;
let browser: Browser | undefined;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "countersign-site-"));
  await buildSite(folder);
  site = await serveFolder(folder);
  if (!missing) browser = await startBrowser();
}, 900_000);

afterAll(async () => {
  await browser?.close();
  await site?.close();
  await rm(folder, { recursive: true, force: true });
});

async function newPage(): Promise<Page> {
  const page = await browser!.newPage({ colorScheme: "light", viewport: { width: 1280, height: 900 } });
  onTestFinished(() => page.close());
  page.setDefaultTimeout(120_000);
  return page;
}

/** Loads a page, and waits until its scripts run: a busy machine has loaded them long before. */
async function load(page: Page, path: string): Promise<void> {
  await page.goto(site.url + path, { waitUntil: "networkidle" });
  // The theme names its switch as the last thing that it does at the start.
  await page.locator('.VPSwitchAppearance[title^="Switch"]').first().waitFor({ state: "attached" });
}

async function open(path: string): Promise<Page> {
  const page = await newPage();
  await load(page, path);
  return page;
}

/** What axe, which the page has loaded, finds wrong: by these of its rules, or by all. */
async function violationsOn(page: Page, rules?: readonly string[]): Promise<readonly string[]> {
  return page.evaluate(async (runOnly) => {
    const { axe } = globalThis as unknown as { axe: Axe };
    const { violations } = await axe.run(runOnly === undefined ? {} : { runOnly });
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join("\n")}`);
  }, rules);
}

describe("the built site", () => {
  it("has no link to an anchor that is not there", () => {
    const pages = htmlFiles();
    const ids = new Map(pages.map(([path, html]) => [path, idsOf(html)]));
    const broken = pages.flatMap(([path, html]) =>
      linksOf(html).flatMap((href) => {
        const { pathname, hash } = new URL(href, `http://site${path}`);
        const target = ids.get(pathname);
        if (target === undefined) return existsSync(join(folder, pathname)) ? [] : [`${path}: ${href}`];
        return hash === "" || target.has(decodeURIComponent(hash.slice(1))) ? [] : [`${path}: ${href}`];
      }),
    );
    expect(broken).toEqual([]);
  });

  it("offers each page as Markdown, and lists them in llms.txt", () => {
    const list = readFileSync(join(folder, "llms.txt"), "utf8");
    const files = [...list.matchAll(/\]\(\/(.+?)\)/g)].map(([, path = ""]) => path);
    const pages = htmlFiles().map(([path]) => `${path.slice(1)}${/(?:^|\/)$/.test(path) ? "index" : ""}.md`);
    expect(pages.length).toBeGreaterThan(200);
    expect(files.toSorted()).toEqual(pages.toSorted());
    expect(files.filter((file) => !existsSync(join(folder, file)))).toEqual([]);
  });

  it("has every page under 300 kB, compressed, with all scripts and styles that it names", () => {
    const sizes = new Map<string, number>();
    const sizeOf = (file: string): number => {
      const size = sizes.get(file) ?? gzipSync(readFileSync(join(folder, file))).length;
      sizes.set(file, size);
      return size;
    };
    const heavy = htmlFiles()
      .map(([path, html]) => {
        const named = [...html.matchAll(/(?:src|href)="\/(assets\/[^"]+\.(?:js|css)|[^"]+\.png)"/g)];
        const assets = new Set(named.map(([, file = ""]) => file));
        return {
          path,
          size: gzipSync(html).length + [...assets].reduce((sum, file) => sum + sizeOf(file), 0),
        };
      })
      .filter(({ size }) => size >= 300_000);
    expect(sizes.size).toBeGreaterThan(200);
    expect(heavy).toEqual([]);
  });

  it("has every name that a package exports, in the API reference", () => {
    const api = htmlFiles().filter(([path]) => path.startsWith("/api/"));
    const text = api.map(([, html]) => html.replaceAll(/<[^>]+>/g, " ")).join(" ");
    const words = new Set(text.split(/[^\w$]+/));
    const names = readdirSync(join(root, "packages")).flatMap((name) => namesOf(name));
    expect(names.length).toBeGreaterThan(300);
    expect(names.filter((name) => !words.has(name))).toEqual([]);
  });

  it("shows the install lines of each package manager", () => {
    const html = readFileSync(join(folder, "start/index.html"), "utf8").replaceAll(/<[^>]+>/g, "");
    for (const line of ["npm install zod", "pnpm add zod", "yarn add zod", "bun add zod"])
      expect(html).toContain(line);
  });
});

// A browser is slow on a busy machine: nothing here is about time.
describe.skipIf(missing)(`in a browser${why}`, { timeout: 300_000 }, () => {
  it.each(PAGES)(
    "makes no request to another host, loads less than 300 kB, and has no accessibility violation, light or dark, on %s",
    async (path) => {
      const page = await newPage();
      const foreign: string[] = [];
      page.on("request", (request) => {
        if (!request.url().startsWith(site.url) && !request.url().startsWith("data:"))
          foreign.push(request.url());
      });
      const before = site.sentBytes();
      await load(page, path);
      expect(foreign).toEqual([]);
      expect(site.sentBytes() - before).toBeLessThan(300_000);
      await page.evaluate(AXE);
      expect(await violationsOn(page)).toEqual([]);
      await page.emulateMedia({ colorScheme: "dark" });
      await page.locator("html.dark").waitFor({ state: "attached" });
      // Nothing else differs in the dark.
      expect(await violationsOn(page, ["color-contrast", "link-in-text-block"])).toEqual([]);
    },
  );

  it("follows the choice of a framework and of a package manager on every page", async () => {
    const page = await open("/start/");
    await page.getByRole("radio", { name: "Fastify" }).check();
    await page.getByRole("radio", { name: "pnpm" }).check();
    await expect.poll(() => page.getByText("app.register(async (scope)").isVisible()).toBe(true);
    await expect.poll(() => page.getByText("pnpm add @countersign/fastify").isVisible()).toBe(true);
    await page.goto(`${site.url}/packages/redis/`, { waitUntil: "networkidle" });
    const installs = page.getByText(/^pnpm add @countersign\/redis/).first();
    await expect.poll(() => installs.isVisible()).toBe(true);
  });

  it("takes a signature apart without sending anything", async () => {
    const page = await open("/signature-bench");
    const sent: string[] = [];
    page.on("request", (request) => {
      // The theme loads the scripts of pages that are linked; nothing else may leave.
      if (!/^GET \/assets\/[^?]+$/.test(`${request.method()} ${request.url().slice(site.url.length)}`))
        sent.push(request.url());
    });
    await expectFindings(page, "Verified: a track message.");
    await page.getByLabel("Shared secret").fill('"dev"');
    await expectFindings(page, "quotation marks");
    await page.getByLabel("Shared secret").fill("dev");
    await page.getByLabel("X-Signature").fill("0".repeat(40));
    await expectFindings(page, "ERR_SIGNATURE_MISMATCH");
    expect(sent).toEqual([]);
  });

  it("answers a newcomer's questions in the first three results", async () => {
    const page = await open("/start/");
    await page.locator(".DocSearch-Button").click();
    const results = page.locator(".VPLocalSearchBox .result");
    const firstPages = async (): Promise<readonly string[]> => {
      const links = await results.evaluateAll((all) => all.map((one) => one.getAttribute("href") ?? ""));
      return [...new Set(links.map((link) => link.split("#")[0] ?? ""))].slice(0, 3);
    };
    const misses: string[] = [];
    for (const [question, expected] of QUESTIONS) {
      await page.locator(".search-input").fill(question);
      await vi
        .waitFor(async () => expect(await firstPages()).toContain(expected))
        .catch(async () => misses.push(`${question}: ${(await firstPages()).join(", ")}`));
    }
    expect(misses).toEqual([]);
  });
});

/** The names that the record of a package's surface has. */
function namesOf(name: string): readonly string[] {
  const file = join(root, "packages", name, "api.txt");
  if (!existsSync(file)) return [];
  const declared = /^(?:abstract )?(?:interface|type|class|const|function) (\w+)/gm;
  return [...readFileSync(file, "utf8").matchAll(declared)].map(([, found = ""]) => found);
}

interface Axe {
  run(options: { readonly runOnly?: readonly string[] }): Promise<{
    readonly violations: readonly {
      readonly id: string;
      readonly nodes: readonly { readonly html: string }[];
    }[];
  }>;
}

async function expectFindings(page: Page, text: string): Promise<void> {
  await page.locator(".findings", { hasText: text }).waitFor({ timeout: 30_000 });
}

/** Path and text of every page. */
function htmlFiles(): readonly (readonly [path: string, html: string])[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".html") && file !== "404.html")
    .map((file) => {
      const path = `/${file.replaceAll("\\", "/")}`.replace(/index\.html$/, "").replace(/\.html$/, "");
      return [path, readFileSync(join(folder, file), "utf8")] as const;
    });
}

function linksOf(html: string): readonly string[] {
  const hrefs = [...html.matchAll(/<a [^>]*?href="([^"]+)"/g)].map(([, href = ""]) =>
    href.replaceAll("&amp;", "&"),
  );
  return hrefs.filter((href) => !/^(?:[a-z]+:|\/\/)/.test(href));
}

function idsOf(html: string): ReadonlySet<string> {
  return new Set([...html.matchAll(/\sid="([^"]+)"/g)].map(([, id = ""]) => id));
}
