import { defineProject } from "vitest/config";

export default defineProject({
  oxc: { decorator: { legacy: true } },
  test: { name: "tests", include: ["**/*.test.ts"], testTimeout: 60_000 },
});
