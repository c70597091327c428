import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

// Tests import packages by their published names, so they run against dist: build first (`pnpm build`).
// VITEST_REPORT names a file for a JSON report beside the usual output.
const report = process.env["VITEST_REPORT"];

export default defineConfig({
  test: {
    // Many tests wait for another process, a clock or a socket: with two workers, two cores had nothing to do for a fifth of the time.
    maxWorkers: Math.max(3, availableParallelism()),
    reporters: report === undefined ? ["default"] : ["default", ["json", { outputFile: report }]],
    projects: [
      "packages/*/vitest.config.ts",
      "packages/postgres/test/sender/vitest.config.ts",
      "tests/vitest.config.ts",
      "tests/realms/vitest.config.ts",
      "bench/vitest.config.ts",
    ],
  },
});
