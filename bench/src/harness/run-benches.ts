import { parseArgs } from "node:util";
import type { Bench, BenchContext, BenchResult } from "./bench.ts";
import { textChart, type Chart } from "./line-chart.ts";
import { verdictOf, type Row } from "./row.ts";
import { watchStolenCores } from "./stolen-time.ts";
import { formatNumber, textTable } from "./table.ts";

/** What the command stands on. */
export interface RunEnvironment {
  readonly benches: readonly Bench[];
  /** Takes a line of the result. */
  readonly print: (line: string) => void;
  /** Takes a line that tells of progress or of a mistake. */
  readonly report: (line: string) => void;
  /** Keeps the result of a bench, with `--write`. */
  readonly keep: (name: string, result: BenchResult, stolenCores: number | undefined) => Promise<void>;
  /** As {@link watchStolenCores}, which is the default. */
  readonly watchStolen?: () => () => number | undefined;
}

const USAGE = `Usage: pnpm bench [NAME...] [--check] [--json] [--write] [--rounds N] [--list]

Runs the benches named, or all but curves and the soak, one after another, and prints one table.

  --check     exit with 1 when a row misses its target
  --json      print rows and curves as JSON
  --write     write docs/performance.md and its charts; without names, measure the curves, too
  --rounds N  measure N rounds instead of what each bench asks for; a round of the soak is a minute
  --list      print the names of the benches`;

const OPTIONS = {
  check: { type: "boolean", default: false },
  json: { type: "boolean", default: false },
  write: { type: "boolean", default: false },
  list: { type: "boolean", default: false },
  help: { type: "boolean", default: false },
  rounds: { type: "string" },
} as const;

interface Command {
  readonly chosen: readonly Bench[];
  readonly check: boolean;
  readonly json: boolean;
  readonly write: boolean;
  readonly list: boolean;
  readonly help: boolean;
  readonly rounds: number | undefined;
}

/**
 * Runs the command `bench`.
 *
 * @param args - What stands behind the command's name.
 * @returns The exit code: 0; 1 when `--check` found a row that misses its target; 2 for wrong arguments.
 */
export async function runBenches(args: readonly string[], environment: RunEnvironment): Promise<number> {
  const { benches, print, report, keep, watchStolen = watchStolenCores } = environment;
  let command: Command;
  try {
    command = parseCommand(args, benches);
  } catch (error) {
    report(`${(error as Error).message}\n\n${USAGE}`);
    return 2;
  }
  if (command.help) print(USAGE);
  if (command.list) for (const { name, about } of benches) print(`${name.padEnd(12)} ${about}`);
  if (command.help || command.list) return 0;

  const context: BenchContext = {
    rounds: (usual) => command.rounds ?? usual,
    progress: (what) => report(`... ${what}`),
  };
  const rows: (Row & { readonly bench: string; readonly stolenCores?: number | undefined })[] = [];
  const charts: Chart[] = [];
  for (const bench of command.chosen) {
    report(`${bench.name}: ${bench.about}`);
    const stolen = watchStolen();
    const result = await bench.run(context);
    const stolenCores = stolen();
    if (stolenCores !== undefined)
      report(`... meanwhile, the host of this machine took ${formatNumber(stolenCores)} of its cores`);
    rows.push(...result.rows.map((row) => ({ bench: bench.name, stolenCores, ...row })));
    charts.push(...(result.charts ?? []));
    if (command.write) await keep(bench.name, result, stolenCores);
  }
  if (command.json) {
    print(JSON.stringify({ rows: rows.map((row) => ({ ...row, verdict: verdictOf(row) })), charts }));
  } else {
    if (rows.length > 0) print(textTable(rows));
    for (const chart of charts) print(textChart(chart));
  }
  const missed = rows.filter((row) => verdictOf(row) === "MISSED");
  const measured = rows.filter((row) => row.skipped === undefined);
  report(`${rows.length} rows, ${missed.length} missed, ${rows.length - measured.length} skipped`);
  return command.check && missed.length > 0 ? 1 : 0;
}

function parseCommand(args: readonly string[], benches: readonly Bench[]): Command {
  const { values, positionals } = parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
  const names = benches.map(({ name }) => name);
  const unknown = positionals.find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw new TypeError(`There is no bench called ${unknown}; there are ${names.join(", ")}.`);
  const rounds = values.rounds === undefined ? undefined : Number(values.rounds);
  if (rounds !== undefined && !(Number.isInteger(rounds) && rounds > 0))
    throw new TypeError(`--rounds takes a whole number above zero, not ${values.rounds}.`);
  const { check, json, write, list, help } = values;
  const chosen = benches.filter(({ name, kind = "rows" }) =>
    positionals.length === 0 ? kind === "rows" || (write && kind === "curve") : positionals.includes(name),
  );
  return { chosen, check, json, write, list, help, rounds };
}
