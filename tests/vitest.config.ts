import { configDefaults } from "vitest/config";
import { testsOf } from "../vitest.shared.ts";

export default {
  ...testsOf("tests", {
    include: ["**/*.test.ts"],
    globalSetup: "support/published.ts",
    exclude: [...configDefaults.exclude, "realms/**"],
    testTimeout: 60_000,
  }),
  oxc: { decorator: { legacy: true } },
};
