import type { AuditResult, Report } from "./report.ts";
import { formatFailure } from "./format-result.ts";

/**
 * A report as JUnit XML, which CI systems show as tests: one suite for each level. A MUST that is not met is a failure.
 * A SHOULD that is not met is a skipped test with its reason, so that it is visible and breaks no build.
 *
 * @example
 * ```ts
 * await writeFile("certify.xml", toJUnit(await certify({ url, secret })));
 * ```
 */
export function toJUnit(report: Report): string {
  const suites = (["MUST", "SHOULD"] as const).map((level) => {
    const results = report.results.filter((result) => result.level === level);
    return suite(`${level} ${report.url}`, report, results);
  });
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="countersign certify" ${totals(report.results)}>`,
    ...suites.filter((text) => text !== ""),
    "</testsuites>",
    "",
  ].join("\n");
}

function suite(name: string, { startedAt }: Report, results: readonly AuditResult[]): string {
  if (results.length === 0) return "";
  return [
    `  <testsuite ${attributes({ name, timestamp: startedAt.replace(/\.\d+Z$/, "") })} ${totals(results)}>`,
    ...results.map(testCase),
    "  </testsuite>",
  ].join("\n");
}

function testCase(result: AuditResult): string {
  const { id, level, title, durationMs } = result;
  const open = `    <testcase ${attributes({ classname: `certify.${level}`, name: `${id}: ${title}`, time: seconds(durationMs) })}`;
  const outcome = outcomeElement(result);
  return outcome === "" ? `${open}/>` : `${open}>\n      ${outcome}\n    </testcase>`;
}

function outcomeElement(result: AuditResult): string {
  if (result.outcome === "passed") return "";
  if (result.outcome === "skipped") return `<skipped ${attributes({ message: result.reason })}/>`;
  const { cause, received, expected } = result.failure;
  const message = `${cause}: ${received}; expected ${expected}`;
  if (result.level === "SHOULD") return `<skipped ${attributes({ message: `Not met: ${message}` })}/>`;
  return `<failure ${attributes({ message, type: result.level })}>${escape(formatFailure(result.failure))}</failure>`;
}

function totals(results: readonly AuditResult[]): string {
  const failures = results.filter(({ level, outcome }) => level === "MUST" && outcome === "failed").length;
  const passed = results.filter(({ outcome }) => outcome === "passed").length;
  return attributes({
    tests: String(results.length),
    failures: String(failures),
    errors: "0",
    skipped: String(results.length - passed - failures),
    time: seconds(results.reduce((sum, { durationMs }) => sum + durationMs, 0)),
  });
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3);
}

function attributes(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}="${escape(value)}"`)
    .join(" ");
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};

/** Characters that XML 1.0 cannot hold, not even escaped (its section 2.2), become U+FFFD. */
function escape(text: string): string {
  return text
    .replaceAll(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, "\uFFFD")
    .replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}
