import { defineProject } from "vitest/config";

export default defineProject({
  test: { name: "tests", include: ["**/*.test.ts"], testTimeout: 60_000 },
});
