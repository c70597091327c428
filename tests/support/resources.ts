import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

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
  cleanUp(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Lets go of everything: after each test, by `each-file.ts`. */
export async function letGo(): Promise<void> {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
}
