import { configDefaults } from "vitest/config";
import { testsOf } from "../vitest.shared.ts";

export default {
  ...testsOf("tests", {
    include: ["**/*.test.ts"],
    globalSetup: "support/published.ts",
    exclude: [...configDefaults.exclude, "realms/**", "timezones/**"],
    // Most of them start processes, and some a compiler: a machine that is ten times busier takes a minute.
    testTimeout: 120_000,
    hookTimeout: 120_000,
  }),
  oxc: { decorator: { legacy: true } },
};
