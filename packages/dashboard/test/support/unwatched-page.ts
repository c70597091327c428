import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { chromium, type Page } from "playwright-core";
import { onTestFinished } from "vitest";
import { browserPath, FLAGS } from "./browser.ts";

/** A page that no test watches. */
export interface UnwatchedPage {
  /** Watches it from now on. */
  watch(): Promise<Page>;
  /** Ends its browser. */
  close(): Promise<void>;
}

/**
 * Opens the page in a browser of its own, and lets go of it as soon as it shows a row: Playwright copies what a page receives
 * into the process of the test, which is the one that forwards.
 */
export async function openUnwatched(url: string): Promise<UnwatchedPage> {
  const folder = await mkdtemp(join(tmpdir(), "countersign-chromium-"));
  const args = [
    ...FLAGS,
    "--headless",
    "--remote-debugging-port=0",
    `--user-data-dir=${folder}`,
    "about:blank",
  ];
  const child = spawn(browserPath ?? "", args, { stdio: ["ignore", "ignore", "pipe"] });
  const ended = once(child, "exit");
  const close = async (): Promise<void> => {
    child.kill("SIGKILL");
    await ended;
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  // Also where the page does not open.
  onTestFinished(close);
  const address = await debuggerOf(child.stderr);
  const connect = async (): Promise<Page> => {
    const [context] = (await chromium.connectOverCDP(address)).contexts();
    return context?.pages().find((page) => page.url().startsWith(url)) ?? context!.newPage();
  };
  const page = await connect();
  await page.goto(url);
  await page.getByRole("row").nth(3).waitFor();
  // Leaves the browser and its page as they are.
  await page.context().browser()?.close();
  return { watch: connect, close };
}

/** The address at which the browser is driven, which it prints when it has started. */
async function debuggerOf(output: Readable): Promise<string> {
  for await (const line of createInterface(output)) {
    const [, address] = /^DevTools listening on (\S+)$/.exec(line) ?? [];
    if (address === undefined) continue;
    // What else it prints must not fill the pipe.
    output.resume();
    return address;
  }
  throw new Error("Chromium ended before it listened.");
}
