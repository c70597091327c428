import { readdirSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { ERRORS, findExamples, GUIDES, typeCheck } from "./support/doc-examples.ts";
import { blocksOf, documents, placeOf, sources } from "./support/documents.ts";

/** Every package, the private page apart: its README has no code. */
const PACKAGES = readdirSync(new URL("../packages", import.meta.url)).filter((name) => name !== "dashboard");

const GROUPS = [...PACKAGES, GUIDES, ERRORS];

/** An example that does not compile: it tells whether those that do were looked at. */
const WRONG = { file: "packages/core/src/here.ts", line: 7, code: 'signn("{}", "secret");\nsign("{}");' };

let errors: readonly string[];
beforeAll(async () => {
  const groups = Object.fromEntries(GROUPS.map((name) => [name, findExamples(name)]));
  errors = await typeCheck({ ...groups, core: [...(groups["core"] ?? []), WRONG] });
}, 300_000);

describe.each(GROUPS)("the examples of %s", (name) => {
  it("compile, in doc comments and in the README", () => {
    const files = new Set(findExamples(name).map(({ file }) => file));
    expect(files.size).toBeGreaterThan(0);
    expect(errors.filter((error) => files.has(error.replace(/:.*/s, "")))).toEqual([]);
  });
});

it("every block of TypeScript is among them, wherever it is", () => {
  const compiled = new Set(GROUPS.flatMap(findExamples).map(placeOf));
  const blocks = [...documents(), ...sources()].flatMap(blocksOf).filter(({ language }) => language === "ts");
  expect(blocks.length).toBeGreaterThan(200);
  expect(blocks.map(placeOf).filter((place) => !compiled.has(place))).toEqual([]);
});

it("no example answers before a queue has the message, since what the queue then refuses is lost", () => {
  const queued = GROUPS.flatMap(findExamples).filter(({ code }) => code.includes("queue.add("));
  expect(queued.length).toBeGreaterThan(2);
  expect(queued.filter(({ code }) => /(?<!await )queue\.add\(/.test(code)).map(placeOf)).toEqual([]);
});

it("an example that calls what does not exist does not compile, and is named by its line, and nothing else is wrong", () => {
  expect(errors).toEqual([
    expect.stringMatching(/^packages\/core\/src\/here\.ts:7: error TS2\d+: .*signn/),
    expect.stringMatching(/^packages\/core\/src\/here\.ts:8: error TS2554/),
  ]);
});
