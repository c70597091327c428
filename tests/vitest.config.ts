import { testsOf } from "../vitest.shared.ts";

export default {
  ...testsOf("tests", { include: ["**/*.test.ts"], testTimeout: 60_000 }),
  oxc: { decorator: { legacy: true } },
};
