import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

// What takes minutes, or needs a machine to itself: `pnpm test:long`. One file after another, since some measure time.
export default defineConfig({
  test: {
    name: "long",
    root: fileURLToPath(new URL("..", import.meta.url)),
    include: ["**/*.long.ts"],
    fileParallelism: false,
    testTimeout: 600_000,
  },
});
