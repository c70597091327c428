import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";

const asData = (code: string): string => `data:text/javascript,${encodeURIComponent(code)}`;

/** Bun gives a module of its own to whoever imports undici. Its agents cannot send. */
const AS_BUN = asData(`
  import { register } from "node:module";
  register(${JSON.stringify(
    asData(`
      const url = ${JSON.stringify(asData("export class Agent {} export const errors = {};"))};
      export const resolve = (name, context, next) =>
        name === "undici" ? { url, shortCircuit: true } : next(name, context);`),
  )});`);

describe("a sender on a runtime without undici", () => {
  it("is refused at its start: its messages would fail for good, as if the endpoint had rejected them", async () => {
    const script = `
      import { createSender } from "@countersign/sender";
      await createSender({ url: "http://127.0.0.1:1/" }).catch((error) => console.log(error.message));`;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ["--import", AS_BUN, "--input-type=module", "--eval", script],
      { cwd: import.meta.dirname },
    );
    expect(stdout).toMatch(/^The sender runs on Node only: /);
  });
});
