import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

// Not part of `npm test`: it installs from the registry. `npm run test:hosts`, and see README.md beside this file.
const report = process.env["VITEST_REPORT"];

export default defineConfig(({ mode }) => ({
  test: {
    name: "hosts",
    root: fileURLToPath(new URL(".", import.meta.url)),
    include: ["**/*.host.ts"],
    globalSetup: "support/set-up.ts",
    env: { COUNTERSIGN_WHOLE_HOSTS: mode === "whole" ? "1" : "" },
    // Installing and building keep more than one processor busy already.
    maxWorkers: 2,
    silent: "passed-only",
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // What a project compiled is loaded as Node loads it.
    server: { deps: { external: [/countersign-hosts-/] } },
    reporters: report === undefined ? ["default"] : ["default", ["json", { outputFile: report }]],
  },
}));
