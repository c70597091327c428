import { testsOf } from "../../vitest.shared.ts";

// A test has many waits, and one that fails says what it waited for.
export default testsOf("dashboard", { testTimeout: 60_000 });
