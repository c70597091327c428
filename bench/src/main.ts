// The command `pnpm bench`. See the README, or `pnpm bench --help`.
import { fileURLToPath } from "node:url";
import { benches } from "./benches.ts";
import { inOwnProcess } from "./harness/own-process.ts";
import { PerformancePage } from "./harness/page.ts";
import { runBenches } from "./harness/run-benches.ts";

const page = new PerformancePage(fileURLToPath(new URL("../../docs", import.meta.url)));
const order = benches.map(({ name }) => name);

process.exitCode = await runBenches(process.argv.slice(2), {
  benches: benches.map((bench) => inOwnProcess(bench)),
  print: (line) => process.stdout.write(`${line}\n`),
  report: (line) => process.stderr.write(`${line}\n`),
  keep: (name, result, stolenCores) => page.write(name, { ...result, stolenCores }, order),
});
