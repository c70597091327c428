import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { installPublishable } from "../../scripts/publishable.mjs";

declare module "vitest" {
  interface ProvidedContext {
    /** A folder in which the packages are installed as they are published. */
    readonly published: string;
  }
}

/** Installs the packages as they are published: tests of the command start what users start, in a fifth less time than the build. */
export async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), "countersign-published-"));
  await installPublishable(folder);
  provide("published", folder);
  return () => rm(folder, { recursive: true, force: true });
}
