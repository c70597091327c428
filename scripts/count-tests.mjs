// Prints "N passed, N failed" of a Vitest JSON report. A test that was skipped counts as failed: where this runs,
// everything the tests want is there.
// Before it stands a line for each test that failed: its file, its name, what it said first, and where that was.
import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";

/** What a text says first, and what a browser waited for. A value that differs can be as long as a page. */
function saidFirst(text) {
  const plain = stripVTControlCharacters(text || "no reason given");
  const [, log] = /\nCall log:\n(.*?)(?:\n\n|$)/s.exec(plain) ?? [];
  const waitedFor =
    log === undefined ? "" : ` Call log: ${log.trim().replaceAll(/\s+/g, " ").slice(0, 1_000)}`;
  return plain.split("\n", 1)[0].slice(0, 2_000) + waitedFor;
}

/** Where a test failed: the first place of the stack in this repository, and the first in the test's file where that is another. */
function placesOf(message, testFile) {
  const places = [...message.matchAll(/^ {4}at (?:.*?[( ])?((?:file:\/\/)?\/.*):(\d+):\d+\)?$/gm)]
    .map(([, path, line]) => [relative(".", path.startsWith("/") ? path : fileURLToPath(path)), line])
    .filter(([file]) => !file.startsWith("../") && !file.includes("node_modules/"));
  const told = new Set([places[0], places.find(([file]) => file === testFile)].filter(Boolean));
  return [...told].map((place) => `, at ${place.join(":")}`).join("");
}

/** What a test said first, and where. Vitest names no reason in its report where time ran out. */
function reasonOf({ file, failureMessages, duration = 0 }) {
  const message = failureMessages?.[0] ?? "";
  const said = saidFirst(message);
  const reason = said === "Error: STACK_TRACE_ERROR" ? `timed out after ${Math.round(duration)} ms` : said;
  return reason + placesOf(message, file);
}

const [file] = process.argv.slice(2);
try {
  const report = JSON.parse(readFileSync(file, "utf8"));
  const tests = report.testResults.flatMap(({ name, assertionResults }) =>
    assertionResults.map((test) => ({ ...test, file: relative(".", name) })),
  );
  const passed = tests.filter(({ status }) => status === "passed");
  const failed = tests.filter(({ status }) => status !== "passed");
  const brokenFiles = report.testResults.filter(
    ({ status, assertionResults }) =>
      status === "failed" && !assertionResults.some((test) => test.status === "failed"),
  );
  for (const test of failed) console.log(`${test.status}: ${test.file}: ${test.fullName}: ${reasonOf(test)}`);
  for (const { name, message } of brokenFiles)
    console.log(`failed to run: ${relative(".", name)}: ${saidFirst(message)}`);
  console.log(`${passed.length} passed, ${failed.length + brokenFiles.length} failed`);
} catch (error) {
  console.log(`Cannot read the test report: ${error.message}`);
  console.log("0 passed, 1 failed");
}
