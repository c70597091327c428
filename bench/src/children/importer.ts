// Imports modules one after another, and sends how many milliseconds of CPU time the last one took:
// importer.js FOLDER MODULE...
// The folder is where the modules are installed.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { pathToFileURL } from "node:url";

const [folder = "", ...names] = process.argv.slice(2);
const loader = join(folder, "load.mjs");
writeFileSync(loader, "export const load = (name) => import(name);\n");
const { load } = (await import(pathToFileURL(loader).href)) as { load: (name: string) => Promise<unknown> };

/** The CPU time of a process since an earlier reading, in milliseconds. */
function since(earlier: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(earlier);
  return (user + system) / 1_000;
}

/** Waits until the threads of this process have ended what the import before left to them, such as compiling. */
async function idle(): Promise<void> {
  for (let used = 1; used >= 1;) {
    const start = process.cpuUsage();
    await wait(20);
    used = since(start);
  }
}

let used = 0;
for (const name of names) {
  await idle();
  const start = process.cpuUsage();
  await load(name);
  used = since(start);
}
process.send?.(used);
