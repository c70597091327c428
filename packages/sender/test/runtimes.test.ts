import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { AS_BUN } from "./support/as-bun.ts";

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
