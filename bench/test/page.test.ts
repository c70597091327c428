import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { benches } from "../src/benches.ts";
import { drawChart, type Chart } from "../src/harness/line-chart.ts";
import { PerformancePage, renderResults, replaceResults } from "../src/harness/page.ts";

const docs = join(import.meta.dirname, "../../docs");
const order = benches.map(({ name }) => name);
const chart: Chart = {
  name: "size",
  title: "Time & <size>",
  x: { label: "bytes", scale: "log" },
  y: { label: "ratio" },
  series: [
    {
      name: "ours",
      points: [
        [100, 1.5],
        [10_000, 3],
      ],
    },
  ],
};

it("the page shows the results that are kept, and nothing else", async () => {
  const page = await readFile(join(docs, "performance.md"), "utf8");
  const results = await new PerformancePage(docs).read();
  expect(replaceResults(page, renderResults(results, order))).toBe(page);
});

it("writing one bench replaces its rows and leaves those of others", async () => {
  const folder = await mkdtemp(join(tmpdir(), "countersign-bench-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(
    join(folder, "performance.md"),
    "# Speed\n\n<!-- bench: begin -->\n<!-- bench: end -->\nEnd.\n",
  );
  const page = new PerformancePage(folder);
  const row = (what: string) => ({ what, against: "peer", unit: "µs", ours: 1 });
  await page.write("verify", { rows: [row("first")] }, ["express", "verify"]);
  await page.write("express", { rows: [row("adapter")], charts: [chart] }, ["express", "verify"]);
  await page.write("verify", { rows: [row("second")], stolenCores: 0.125 }, ["express", "verify"]);
  const text = await readFile(join(folder, "performance.md"), "utf8");
  expect(text).not.toContain("first");
  expect(text.indexOf("adapter")).toBeLessThan(text.indexOf("second"));
  expect(text).toMatch(/^# Speed\n/);
  expect(text).toMatch(/Measured \d{4}-\d\d-\d\d: .* cores? of .*, Node \d+/);
  expect(text).toContain("\nCores that the host of the machine took meanwhile: 0.13 (verify).\n");
  expect(text).toMatch(/\nEnd\.\n$/);
  expect(text).toContain("\n![Time & <size>](performance/size.svg)\n");
  await expect(readFile(join(folder, "performance/size.svg"), "utf8")).resolves.toBe(drawChart(chart));
});

it("a page without its marks is left as it is, and the error names them", () => {
  expect(() => replaceResults("# Speed\n", "table")).toThrow("<!-- bench: begin -->");
});

it("a chart has a point for each measurement, placed by its scale, and its text is escaped", () => {
  const svg = drawChart(chart);
  expect(svg.match(/<circle/g)).toHaveLength(2);
  // From 100 to 10,000 by powers of ten; from 0 to 3.
  expect(svg).toContain('<polyline points="80,192 700,48"');
  expect(svg).toContain("Time &amp; &lt;size&gt;");
});

it("a chart without a point is an error", () => {
  expect(() => drawChart({ ...chart, series: [] })).toThrow("size has no points");
});
