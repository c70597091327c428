import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";
import { packPublishable } from "../../../scripts/publishable.mjs";
import { startRegistry } from "./registry.ts";
import { cleanEnvironment, run } from "./run.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** A folder for everything that these tests make. */
    readonly work: string;
    /** Where the packed packages are installed from. */
    readonly registry: string;
    /** A project with the command, installed from its tarball. */
    readonly command: string;
    /** The folder of the pinned pnpm. */
    readonly pnpm: string;
  }
}

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** Bundles and packs every public package as it is published, serves the tarballs as a registry does, and installs the command from them. */
export async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const work = await mkdtemp(join(tmpdir(), "countersign-hosts-"));
  const { packageManager } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as {
    packageManager: string;
  };
  // By its path, since what starts the tests need not have it.
  const found = await run(`npx -y -p ${packageManager} -c "command -v pnpm"`, { folder: root });
  const pnpm = found.split("\n").find((line) => line.startsWith("/")) ?? "pnpm";
  const publishable = join(work, "publishable");
  await mkdir(publishable);
  const registry = await startRegistry([...(await packPublishable(publishable)).values()]);
  const close = async (): Promise<void> => {
    await registry.close();
    await rm(work, { recursive: true, force: true, maxRetries: 3 });
  };
  const command = join(work, "command");
  await mkdir(command);
  await writeFile(join(command, ".npmrc"), `@countersign:registry=${registry.url}\n`);
  await writeFile(join(command, "package.json"), JSON.stringify({ private: true }));
  try {
    const environment = cleanEnvironment(work);
    await run(`npm install ${registry.tarballOf("countersign")}`, { folder: command, environment });
  } catch (error) {
    await close();
    throw error;
  }
  provide("work", work);
  provide("registry", registry.url);
  provide("command", command);
  provide("pnpm", dirname(pnpm));
  return close;
}
