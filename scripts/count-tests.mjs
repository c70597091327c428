// Prints "N passed, N failed" of a Vitest JSON report. A test that was skipped counts as failed: where this runs,
// everything the tests want is there.
// Before it stands a line for each test that failed: its file, its name, and what it said first.
import { readFileSync } from "node:fs";
import { relative } from "node:path";

// A value that differs can be as long as a page.
const firstLine = (text) => text.split("\n", 1)[0].slice(0, 2_000);

/** What a test said first. Vitest names no reason in its report where time ran out. */
function reasonOf({ failureMessages, duration = 0 }) {
  const reason = firstLine(failureMessages?.[0] ?? "no reason given");
  return reason === "Error: STACK_TRACE_ERROR" ? `timed out after ${Math.round(duration)} ms` : reason;
}

const [file] = process.argv.slice(2);
try {
  const report = JSON.parse(readFileSync(file, "utf8"));
  const tests = report.testResults.flatMap(({ name, assertionResults }) =>
    assertionResults.map((test) => ({ ...test, file: name })),
  );
  const passed = tests.filter(({ status }) => status === "passed");
  const failed = tests.filter(({ status }) => status !== "passed");
  const brokenFiles = report.testResults.filter(
    ({ status, assertionResults }) =>
      status === "failed" && !assertionResults.some((test) => test.status === "failed"),
  );
  for (const test of failed)
    console.log(`${test.status}: ${relative(".", test.file)}: ${test.fullName}: ${reasonOf(test)}`);
  for (const { name, message } of brokenFiles)
    console.log(`failed to run: ${relative(".", name)}: ${firstLine(message)}`);
  console.log(`${passed.length} passed, ${failed.length + brokenFiles.length} failed`);
} catch (error) {
  console.log(`Cannot read the test report: ${error.message}`);
  console.log("0 passed, 1 failed");
}
