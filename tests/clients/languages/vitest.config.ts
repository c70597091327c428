import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

// Not part of `npm test`: the sources of these clients are not in the npm registry. See README.md beside this file.
export default defineConfig({
  test: {
    root: fileURLToPath(new URL(".", import.meta.url)),
    include: ["languages.check.ts"],
    testTimeout: 180_000,
  },
});
