import { setImmediate as nextTurn } from "node:timers/promises";
import type { Metric, Registry } from "prom-client";

/** How many series are written before others are answered: some milliseconds of work. */
const AT_ONCE = 2_000;

/** The empty line between two metrics. */
const BETWEEN = Buffer.from("\n");

/** A series as prom-client tells it. One of a histogram has a name of its own. */
interface Series {
  readonly metricName?: string;
  readonly labels: Readonly<Partial<Record<string, string | number>>>;
  readonly value: number;
}

/**
 * The text that `registry.metrics()` makes. That writes all series at once: with thousands of destinations, the process answered nothing else
 * for seconds. This reads one metric after another, and others are answered meanwhile. As bytes, since to encode it takes as long.
 */
export async function exposition(registry: Registry): Promise<Buffer> {
  const parts: Buffer[] = [];
  for (const { name } of registry.getMetricsAsArray()) {
    const metric = registry.getSingleMetric(name);
    if (metric === undefined) continue;
    if (parts.length > 0) parts.push(BETWEEN);
    for await (const part of textOf(metric)) parts.push(Buffer.from(part));
  }
  return Buffer.concat(parts);
}

async function* textOf(metric: Metric): AsyncGenerator<string> {
  const { name, help, type, values } = await metric.get();
  yield `# HELP ${name} ${escaped(help)}\n# TYPE ${name} ${type}\n`;
  for (let from = 0; from < values.length; from += AT_ONCE) {
    const series = values.slice(from, from + AT_ONCE);
    yield series.map((one) => lineOf(name, one)).join("");
    await nextTurn();
  }
}

function lineOf(name: string, { metricName = name, labels, value }: Series): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${quotable(String(text))}"`);
  const inBraces = pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
  return `${metricName}${inBraces} ${numberText(value)}\n`;
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}

/** Almost no label has anything to escape. */
function quotable(text: string): string {
  return /["\\\n]/.test(text) ? escaped(text).replaceAll('"', '\\"') : text;
}

/** A number as prom-client writes it. */
function numberText(value: number): string {
  if (Number.isNaN(value)) return "Nan";
  if (Number.isFinite(value)) return String(value);
  return value < 0 ? "-Inf" : "+Inf";
}
