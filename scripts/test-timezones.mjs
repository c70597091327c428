// Runs the tests whose subject is time in five time zones: two offsets that are no whole hours, one beyond the date line,
// one with daylight saving, and UTC. Ends with "N passed, N failed".
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const ZONES = ["UTC", "America/St_Johns", "Asia/Kolkata", "Pacific/Apia", "America/New_York"];
const FILES = [
  "packages/protocol/test/clock.test.ts",
  "packages/protocol/test/record-call.test.ts",
  "packages/protocol/test/retry-after.test.ts",
  "packages/protocol/test/timestamps.test.ts",
  "packages/client/test/retry.test.ts",
  "packages/client/test/rules.test.ts",
  "packages/server/test/ingest/interpret-request.test.ts",
  "packages/server/test/ingest/timestamps.test.ts",
  "packages/sender/test/calls.test.ts",
  "packages/sender/test/four-hours.test.ts",
  "packages/sender/test/retry-policy.test.ts",
];

const reports = mkdtempSync(join(tmpdir(), "countersign-timezones-"));
let passed = 0;
let failed = 0;
try {
  const gone = FILES.filter((file) => !existsSync(join(root, file)));
  for (const file of gone)
    console.log(`FAILED  ${file} does not exist. Correct the list in scripts/test-timezones.mjs.`);
  failed += gone.length;
  for (const [index, zone] of ZONES.entries()) {
    const report = join(reports, `${index}.json`);
    const vitest = join(root, "node_modules/vitest/vitest.mjs");
    const { stdout } = spawnSync(
      process.execPath,
      [vitest, "run", "--reporter=default", "--reporter=json", `--outputFile=${report}`, ...FILES],
      { cwd: root, env: { ...process.env, TZ: zone }, encoding: "utf8" },
    );
    if (!existsSync(report)) {
      failed += 1;
      console.log(`FAILED  ${zone}: no report\n${stdout}`);
      continue;
    }
    const { numPassedTests, numTotalTests, testResults, success } = JSON.parse(readFileSync(report, "utf8"));
    const others = numTotalTests - numPassedTests;
    passed += numPassedTests;
    failed += others === 0 && !success ? 1 : others;
    console.log(
      `${success ? "ok     " : "FAILED "} ${zone}: ${numPassedTests} passed in ${testResults.length} files`,
    );
    if (!success) console.log(stdout);
  }
} finally {
  rmSync(reports, { recursive: true });
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
