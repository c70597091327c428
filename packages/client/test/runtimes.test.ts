import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

it("the script that runs on every runtime is right on this one", () => {
  const script = fileURLToPath(new URL("runtimes/smoke.mjs", import.meta.url));
  expect(execFileSync(process.execPath, [script], { encoding: "utf8" })).toBe("ok\n");
});

it("the package loads through require()", () => {
  const script =
    'const { Analytics } = require("@countersign/client"); require("@countersign/client/testing"); console.log(typeof Analytics)';
  const output = execFileSync(process.execPath, ["-e", script], {
    cwd: import.meta.dirname,
    encoding: "utf8",
  });
  expect(output).toBe("function\n");
});
