import { readFile } from "node:fs/promises";
import { audits, certify } from "@countersign/certify";
import { beforeAll, expect, it } from "vitest";
import { documentedReceiver } from "./support/documented-receiver.ts";
import { SECRET, serve } from "./support/listen.ts";

let rows: string[];

beforeAll(async () => {
  const readme = await readFile(new URL("../README.md", import.meta.url), "utf8");
  rows = readme
    .split("\n")
    .filter((line) => /^\| `[^`]+` +\| (MUST|SHOULD) /.test(line))
    .map((line) => line.replaceAll(/ +/g, " "));
});

it("lists every audit, with its level and title, in the order of the table", () => {
  const listed = rows.map((row) => row.split(" | ").slice(0, 3).join(" | "));
  expect(listed).toEqual(audits.map(({ id, level, title }) => `| \`${id}\` | ${level} | ${title}`));
});

it("says exactly which audits the documented hand-written receiver fails", async () => {
  const receiver = await serve(documentedReceiver(SECRET));
  const report = await certify({ url: receiver.url, secret: SECRET });
  await receiver.close();
  const failed = report.results
    .filter(({ outcome }) => outcome === "failed")
    .map(({ level, id }) => `${level} ${id}`);
  const documented = [
    "SHOULD accepts-escapes-as-written",
    "SHOULD accepts-numbers-as-written",
    "SHOULD accepts-upper-case-signature",
    "SHOULD rejects-empty-body",
    "SHOULD answers-415-to-other-media-types",
    "MUST rejects-declared-oversize",
    "MUST rejects-chunked-oversize",
    "MUST survives-deep-nesting",
  ];
  // From Node 26 on, JSON.stringify writes lists however deep they are.
  const isDeepWritten = Number.parseInt(process.versions.node) >= 26;
  expect(failed).toEqual(isDeepWritten ? documented.slice(0, -1) : documented);
  const listed = rows.filter((row) => row.includes("**fails**")).map((row) => row.split(/[`|]/)[2] ?? "");
  expect(listed).toEqual(documented.map((line) => line.split(" ")[1]));
});
