import { testsOf } from "../../vitest.shared.ts";

export default testsOf("cli", { globalSetup: "../../tests/support/published.ts" });
