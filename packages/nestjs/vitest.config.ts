import { testsOf } from "../../vitest.shared.ts";

export default { ...testsOf("nestjs"), oxc: { decorator: { legacy: true } } };
