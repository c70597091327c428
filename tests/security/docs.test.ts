import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { targets } from "../fuzz/targets.ts";
import own from "./vectors/hmac-sha1.json" with { type: "json" };
import { JSON_CASES } from "./json-cases.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (file: string): string => readFileSync(join(root, file), "utf8");

/** The files that a document links to. */
function linksOf(file: string): readonly string[] {
  const links = [...read(file).matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, link = ""]) => link);
  return links.map((link) => relative(root, join(root, dirname(file), link)));
}

const named = linksOf("docs/security-testing.md");

describe("docs/security-testing.md", () => {
  it("names test files that exist", () => {
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  });

  it("names every test of this folder", () => {
    const tests = readdirSync(join(root, "tests/security"))
      .filter((file) => /\.(?:test|long)\.ts$/.test(file) && file !== "docs.test.ts")
      .map((file) => `tests/security/${file}`);
    expect(tests.filter((file) => !named.includes(file))).toEqual([]);
  });

  it("has a test for each promise", () => {
    const rows = read("docs/security-testing.md")
      .split("\n")
      .filter((line) => line.startsWith("| ") && !/^\| (?:attack |-)/.test(line));
    expect(rows.length).toBeGreaterThan(25);
    for (const row of rows) expect(row).toMatch(/\]\([^)]+\.(?:test|long)\.ts\)/);
  });

  it("tells the numbers of cases that there are", () => {
    const text = read("docs/security-testing.md");
    const cases = (names: RegExp): number =>
      targets.filter(({ name }) => names.test(name)).reduce((sum, { share }) => sum + share, 0) * 50;
    const numbers = [cases(/^verification/), cases(/^parser/), cases(/^body reader/), cases(/^ingestion/)];
    for (const number of numbers) expect(text).toContain(`${number.toLocaleString("en")} `);
    expect(text).toContain(`${own.cases.length} cases of our own`);
    expect(text).toContain(`${JSON_CASES.length} cases`);
  });
});

it("SECURITY.md links to what exists", () => {
  const links = linksOf("SECURITY.md");
  expect(links).toContain("docs/security-testing.md");
  expect(links.filter((file) => !existsSync(join(root, file)))).toEqual([]);
});
