import { defineProject } from "vitest/config";

export default defineProject({
  oxc: { decorator: { legacy: true } },
  test: { name: "nestjs", include: ["test/**/*.test.ts"], testTimeout: 20_000 },
});
