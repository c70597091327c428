import { fileURLToPath } from "node:url";
import { defineProject, type UserWorkspaceConfig } from "vitest/config";
import { cleanEnvironment } from "./tests/support/clean-environment.ts";

// Here, before a worker starts: it inherits the environment of this process.
cleanEnvironment(process.env);

/**
 * How long tests wait, in milliseconds. A wait ends with its condition, so only a test that fails takes this long; a second, which
 * Vitest takes for enough, is not long on a machine that has other work.
 */
const PATIENT = {
  testTimeout: 30_000,
  hookTimeout: 30_000,
  expect: { poll: { timeout: 25_000 } },
};

const EACH_FILE = fileURLToPath(new URL("tests/support/each-file.ts", import.meta.url));

/** A failure tells the whole of what differs: of a run on another machine, nothing else is seen. */
const WHOLE = { chaiConfig: { truncateThreshold: 0 } };

/** `dist` is loaded by Node, as users load it. Vitest would transform each of its files anew for each file of tests. */
const AS_BUILT = { deps: { external: [/\/node_modules\//, /\/packages\/[^/]+\/dist\//] } };

/**
 * A process runs one file of tests after another. With a new one for each, starting them and loading the same code again took two
 * fifths of the processors' time.
 */
const TOGETHER = { isolate: false };

/**
 * The tests of a package: those in its `test` folder.
 *
 * @param name - The name of the project, before its files in Vitest's output.
 * @param more - Settings of its own. Its hooks after a test run when the test has let go of what it opened.
 */
export function testsOf(
  name: string,
  { setupFiles = [], ...more }: UserWorkspaceConfig["test"] = {},
): UserWorkspaceConfig {
  return defineProject({
    test: {
      ...PATIENT,
      ...WHOLE,
      ...TOGETHER,
      server: AS_BUILT,
      name,
      include: ["test/**/*.test.ts"],
      // The hooks of the last one run first.
      setupFiles: [setupFiles, EACH_FILE].flat(),
      ...more,
    },
  });
}
