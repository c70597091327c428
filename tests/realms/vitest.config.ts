import { testsOf } from "../../vitest.shared.ts";

/** In a vm context, as Jest runs tests: Node's own errors and dates are of another realm there. */
export default testsOf("realms", { include: ["**/*.test.ts"], pool: "vmForks" });
