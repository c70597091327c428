import { mkdtempSync, rmSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isWindows } from "../../packages/core/test/support/windows.ts";

const cleanups: (() => unknown)[] = [];

/** Lets go of something when the test has ended, the last one first. */
export function cleanUp(cleanup: () => unknown): void {
  cleanups.push(cleanup);
}

/** The same for something with a `close`. */
export function closing<T extends { close: () => unknown }>(resource: T): T {
  cleanUp(() => resource.close());
  return resource;
}

/** A directory that goes with the test. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "countersign-"));
  cleanUp(() => removeFolder(directory));
  return directory;
}

/** Removes a folder and what is in it, also on Windows, which removes no file that is open. */
export async function removeFolder(path: string): Promise<void> {
  if (!isWindows) return rmSync(path, { recursive: true, force: true });
  // A database that was closed has its file open until its statements are collected.
  const { releaseNativeHandles } = await import("@countersign/sender");
  await releaseNativeHandles();
  // What closes it may not have ended, and another program may look at it.
  await rm(path, { recursive: true, force: true, maxRetries: 10 });
}

/** Lets go of everything: after each test, by `each-file.ts`. */
export async function letGo(): Promise<void> {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
}
