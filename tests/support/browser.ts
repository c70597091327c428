import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { chromium, type Browser } from "playwright-core";

/** Programs that have Chromium's engine. The first has no window even in secret: the same tests take half of the processor's time. */
const PROGRAMS: readonly string[] = [
  "chromium-headless-shell",
  "chromium",
  "chromium-browser",
  "google-chrome",
];

/** Where a browser is on this machine; undefined where there is none. */
export const browserPath: string | undefined = PROGRAMS.flatMap((name) =>
  (process.env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, name)),
).find(isExecutable);

/** Whether there is no browser: then the tests that want one are skipped. */
export const missing: boolean = browserPath === undefined;
/** What the titles of skipped suites say. */
export const why: string = missing ? " (skipped: no chromium is installed)" : "";

/** A browser that makes no request of its own, so that all that its network shows is the page's. */
export const FLAGS: readonly string[] = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--js-flags=--expose-gc",
];

/**
 * Starts the browser; only where one is not `missing`. Whoever starts it closes it.
 *
 * @param flags - What it is given besides `FLAGS`.
 */
export function startBrowser(flags: readonly string[] = []): Promise<Browser> {
  return chromium.launch({ executablePath: browserPath ?? "", args: [...FLAGS, ...flags] });
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
