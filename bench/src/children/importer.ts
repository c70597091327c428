// Imports modules one after another, and sends how many milliseconds of CPU time the last one took:
// importer.js FOLDER MODULE...
// The folder is where the modules are installed.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [folder = "", ...names] = process.argv.slice(2);
const loader = join(folder, "load.mjs");
writeFileSync(loader, "export const load = (name) => import(name);\n");
const { load } = (await import(pathToFileURL(loader).href)) as { load: (name: string) => Promise<unknown> };
let used = 0;
for (const name of names) {
  const start = process.cpuUsage();
  await load(name);
  const { user, system } = process.cpuUsage(start);
  used = (user + system) / 1_000;
}
process.send?.(used);
