import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";
import { certify, formatResult, type AuditResult } from "@countersign/certify";
import { sign } from "@countersign/core";
import { createTestSender, virtualClock } from "@countersign/sender/testing";
import { describe, expect, it } from "vitest";
import { createProgram } from "../packages/cli/src/program.ts";
import { terminalOf } from "../packages/cli/src/terminal/terminal.ts";
import { SECRET, serve } from "../packages/certify/test/support/listen.ts";
import { ALLOWED_DIRECTIONS } from "../tools/directions.mjs";
import { blocksOf, documents, read, sources } from "./support/documents.ts";

/** Checks all `text` blocks of a document, in their order. */
type Check = (texts: readonly string[]) => void | Promise<void>;

/** What each document with `text` blocks shows: output, or a drawing of what is in the code. */
const CHECKS: Readonly<Record<string, Check>> = {
  "ARCHITECTURE.md": drawings,
  // These run every command of the guide, and compare what it prints; the lines of a longer session, too.
  "docs/cli.md": () =>
    ["commands/docs.test.ts", "watch/guide-lines.test.ts"].forEach((file) =>
      expect(read(`packages/cli/test/${file}`)).toContain("docs/cli.md"),
    ),
  "docs/reference/commands.md": synopses,
  "packages/certify/README.md": failedAudit,
  "packages/cli/README.md": ([output]) => expect(read("docs/cli.md")).toContain(output),
  "packages/sender/README.md": failedExpectation,
};

describe("the text that a document shows", () => {
  const shown = [...documents(), ...sources()].flatMap((file) => {
    const texts = blocksOf(file).filter(({ language }) => language === "text");
    return texts.length === 0 ? [] : [{ file, texts: texts.map(({ text }) => text) }];
  });

  it("is compared with something, and nothing is compared that is not shown", () => {
    expect(shown.map(({ file }) => file).toSorted()).toEqual(Object.keys(CHECKS).toSorted());
  });

  it.each(shown)("in $file is what it is now", async ({ file, texts }) => {
    expect.hasAssertions();
    await CHECKS[file]?.(texts);
  });
});

/** A text without what differs from run to run: times, sizes and ports. */
function withoutFigures(text: string): string {
  return text.replaceAll(/\d+(?= (?:ms|bytes)\b)|(?<=127\.0\.0\.1:)\d+/g, "N");
}

/** Output of a documented audit: a receiver that does not catch what JSON.parse throws. */
async function failedAudit([text = "", ...others]: readonly string[]): Promise<void> {
  expect(others).toEqual([]);
  const receiver = await serve((request, response) => {
    buffer(request)
      .then(
        (body) => {
          const isSigned = request.headers["x-signature"] === sign(body, SECRET);
          // Throws, as json.loads does.
          const message: unknown = isSigned ? JSON.parse(body.toString()) : undefined;
          response.writeHead(message === undefined ? 401 : 204).end();
        },
        () => {},
      )
      .catch(() => response.writeHead(500).end());
  });
  const results: AuditResult[] = [];
  const only = ["rejects-invalid-json"];
  await certify({
    url: receiver.url,
    secret: SECRET,
    language: "python",
    only,
    onResult: (result) => results.push(result),
  });
  await receiver.close();
  const printed = results.filter(({ id }) => only.includes(id)).map(formatResult);
  expect(withoutFigures(text)).toBe(withoutFigures(printed.join("\n")));
}

/** The message of a documented expectation: a receiver that is too busy, and a virtual clock that stands still. */
async function failedExpectation([text = "", ...others]: readonly string[]): Promise<void> {
  expect(others).toEqual([]);
  const clock = virtualClock();
  const target = createServer((_, response) => response.writeHead(503).end("too busy"));
  await using sender = await createTestSender({ target, secret: "dev", clock });
  const receipt = await sender.track({ userId: "u1", event: "Signed Up" });
  await clock.advance(0);
  const error: unknown = await sender
    .expect(receipt, { within: 30 })
    .delivered()
    .catch((thrown: unknown) => thrown);
  expect(withoutFigures(text)).toBe(withoutFigures((error as Error).message));
}

/** How each command is called. */
function synopses(texts: readonly string[]): void {
  const { commands } = createProgram(terminalOf(process), () => {});
  const lines = commands.map((command) => `countersign ${command.name()} ${command.usage()}`);
  expect(texts).toEqual(lines.toSorted());
}

/** Labels of arrows and boxes that are no packages. */
const LABELS = "your app records batches calls signed POST audits receiver".split(" ");

function drawings([parts = "", directions = "", calls = "", ...others]: readonly string[]): void {
  expect(others).toEqual([]);
  const names = parts.match(/[A-Za-z]+/g) ?? [];
  const known = new Set([...LABELS, ...Object.keys(ALLOWED_DIRECTIONS)]);
  expect(names.filter((name) => !known.has(name))).toEqual([]);
  expect(directionsIn(directions)).toEqual(ALLOWED_DIRECTIONS);
  const code = sources()
    .filter((file) => file.startsWith("packages/sender/"))
    .map(read)
    .join("\n");
  const classes = calls.match(/\b[A-Z]\w+/g) ?? [];
  const functions = [...calls.matchAll(/(\w+)\(\)/g)].map(([, name = ""]) => name);
  expect([classes.length, functions.length]).toEqual([4, 5]);
  expect(classes.filter((name) => !code.includes(`class ${name}`))).toEqual([]);
  expect(functions.filter((name) => !new RegExp(String.raw`\b${name}[(<]`).test(code))).toEqual([]);
}

/** The directions of a drawing: `a, b ─▶ c, d`, several of them in a line. */
function directionsIn(drawing: string): Readonly<Record<string, readonly string[]>> {
  const arrows = drawing
    .split(/\n| {2,}/)
    .map((arrow) => arrow.split(" ─▶ ").map((side) => side.split(", ")))
    .filter((sides) => sides.length === 2)
    .flatMap(([from = [], to = []]) =>
      from.map((name) => [name, to.filter((one) => one !== "nothing")] as const),
    );
  const [, shared = []] = arrows.find(([name]) => name === "all others") ?? [];
  const drawn = new Map(arrows);
  return Object.fromEntries(
    Object.keys(ALLOWED_DIRECTIONS).map((name) => [
      name,
      [...(drawn.get(name) ?? []), ...(name === "protocol" ? [] : shared)],
    ]),
  );
}
