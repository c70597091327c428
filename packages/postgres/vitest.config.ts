import { testsOf } from "../../vitest.shared.ts";

// Longer than `until` of test/support/until.ts waits, after what came before: that says what did not happen.
export default testsOf("postgres", { testTimeout: 120_000, hookTimeout: 60_000 });
