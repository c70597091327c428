import { mkdir, readFile, writeFile } from "node:fs/promises";
import { availableParallelism, cpus, release, totalmem, type as osType } from "node:os";
import { join } from "node:path";
import { drawChart } from "./line-chart.ts";
import type { BenchResult } from "./bench.ts";
import type { Row } from "./row.ts";
import { formatNumber, markdownTable } from "./table.ts";

/** What one bench found, when, and on what machine. */
interface Measured {
  readonly date: string;
  readonly machine: string;
  /** How many of the machine's cores its host took meanwhile. */
  readonly stolenCores?: number | undefined;
  readonly rows: readonly Row[];
  /** The charts it drew. */
  readonly charts?: readonly { readonly name: string; readonly title: string }[];
}

/** The latest result of each bench, by its name. */
export type Results = Readonly<Record<string, Measured>>;

const BEGIN = "<!-- bench: begin -->";
const END = "<!-- bench: end -->";

/** This machine, in a line. */
function describeMachine(): string {
  const model = cpus()[0]?.model.trim() ?? "unknown CPU";
  const memory = Math.round(totalmem() / 2 ** 30);
  const system = `${osType()} ${release().split("-")[0]}`;
  return `${availableParallelism()} cores of ${model}, ${memory} GiB, ${system}, Node ${process.versions.node}`;
}

/** The part of the page that is generated: the table, when and where it was measured, and the curves. */
export function renderResults(results: Results, order: readonly string[]): string {
  const charts = order.flatMap((name) => results[name]?.charts ?? []);
  const curves = charts.map(({ name, title }) => `![${title}](performance/${name}.svg)`);
  return [renderTable(results, order), ...curves].join("\n\n");
}

function renderTable(results: Results, order: readonly string[]): string {
  const known = order.filter((name) => results[name] !== undefined && results[name].rows.length > 0);
  if (known.length === 0) return "Nothing has been measured on a quiet machine yet.";
  const rows = known.flatMap((name) => results[name]?.rows ?? []);
  const origins = new Map<string, string[]>();
  for (const name of known) {
    const { date, machine } = results[name] as Measured;
    const origin = `${date}: ${machine}`;
    origins.set(origin, [...(origins.get(origin) ?? []), name]);
  }
  const measured = [...origins].map(([origin, names]) =>
    origins.size === 1 ? `Measured ${origin}.` : `- ${names.join(", ")}: measured ${origin}`,
  );
  return [markdownTable(rows), measured.join("\n"), ...renderStolen(results, known)].join("\n\n");
}

/** What was measured while the host took a part of the machine is slower than it would be. */
function renderStolen(results: Results, known: readonly string[]): string[] {
  const stolen = known.flatMap((name) => {
    const cores = results[name]?.stolenCores;
    return cores === undefined ? [] : [`${formatNumber(cores)} (${name})`];
  });
  return stolen.length === 0
    ? []
    : [`Cores that the host of the machine took meanwhile: ${stolen.join(", ")}.`];
}

/**
 * Puts the generated part into a page, between its two marks.
 *
 * @throws Error when the marks are missing
 */
export function replaceResults(page: string, generated: string): string {
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`The page needs the lines ${BEGIN} and ${END}.`);
  return `${page.slice(0, begin + BEGIN.length)}\n\n${generated}\n\n${page.slice(end)}`;
}

/** The folder `docs` of the project, where results are kept: `performance.md`, and `performance/` for figures. */
export class PerformancePage {
  readonly #page: string;
  readonly #folder: string;
  readonly #results: string;

  constructor(docs: string) {
    this.#page = join(docs, "performance.md");
    this.#folder = join(docs, "performance");
    this.#results = join(this.#folder, "results.json");
  }

  /** The results written so far. */
  async read(): Promise<Results> {
    try {
      return JSON.parse(await readFile(this.#results, "utf8")) as Results;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
      throw error;
    }
  }

  /** Replaces what is known of a bench, and draws the page and its charts again. */
  async write(
    name: string,
    { rows, charts = [], stolenCores }: BenchResult & Pick<Measured, "stolenCores">,
    order: readonly string[],
  ): Promise<void> {
    const date = new Date().toISOString().slice(0, 10);
    const drawn = charts.map(({ name, title }) => ({ name, title }));
    const about = { date, machine: describeMachine(), ...(stolenCores !== undefined && { stolenCores }) };
    const measured = { ...about, rows, ...(drawn.length > 0 && { charts: drawn }) };
    const results: Results = { ...(await this.read()), [name]: measured };
    await mkdir(this.#folder, { recursive: true });
    for (const chart of charts) await writeFile(join(this.#folder, `${chart.name}.svg`), drawChart(chart));
    await writeFile(this.#results, `${JSON.stringify(results, undefined, 2)}\n`);
    const page = await readFile(this.#page, "utf8");
    await writeFile(this.#page, replaceResults(page, renderResults(results, order)));
  }
}
