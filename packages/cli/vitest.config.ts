import { testsOf } from "../../vitest.shared.ts";

export default testsOf("cli", {
  globalSetup: "../../tests/support/published.ts",
  // Most of them start several processes: on a machine that is ten times busier, they take a minute.
  testTimeout: 120_000,
  hookTimeout: 120_000,
});
