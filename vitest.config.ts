import { defineConfig } from "vitest/config";

// Tests import packages by their published names, so they run against dist: build first (`pnpm build`).
export default defineConfig({
  test: {
    projects: ["packages/*/vitest.config.ts", "tests/vitest.config.ts"],
    coverage: { provider: "v8", include: ["packages/*/src/**"] },
  },
});
