import { defineProject } from "vitest/config";

export default defineProject({
  test: {
    name: "sender",
    include: ["test/**/*.test.ts"],
    testTimeout: 20_000,
    expect: { poll: { timeout: 10_000 } },
  },
});
