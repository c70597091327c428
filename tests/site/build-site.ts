import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));

/** Builds the documentation site into a folder, without a network where the system can take it away. */
export async function buildSite(folder: string): Promise<void> {
  await run(process.execPath, ["api-docs.mjs"], { cwd: join(root, "tools") });
  // A build leaves much behind at once: with little room for what is new, collecting it takes a fifth of the time.
  const node = [process.execPath, "--max-semi-space-size=64"];
  const build = [...node, "node_modules/vitepress/bin/vitepress.js", "build", "--outDir", folder];
  const [command = "", ...args] = [...(await withoutNetwork()), ...build];
  await run(command, args, { cwd: join(root, "docs") });
}

/** A command that runs another one where there is no network, so that a build that needs one fails; nothing if there is none. */
async function withoutNetwork(): Promise<readonly string[]> {
  const unshare = ["unshare", "--map-root-user", "--net"];
  const works = await run(unshare[0] ?? "", [...unshare.slice(1), "true"]).then(
    () => true,
    () => false,
  );
  return works ? unshare : [];
}
