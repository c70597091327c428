import { fileURLToPath } from "node:url";
import { testsOf } from "../../vitest.shared.ts";

export default testsOf("server", {
  setupFiles: fileURLToPath(new URL("test/support/each-file.ts", import.meta.url)),
});
