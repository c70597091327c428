import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { asData, resolvingBy } from "../../../tests/support/resolve-otherwise.ts";
import { UNDER_PERMISSIONS } from "../../../tests/support/permission-model.ts";
import { AS_BUN } from "./support/as-bun.ts";
import { FLUSHING_DENIED } from "./support/flushing-denied.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

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

it("a sender without WebAssembly is refused at its start: each attempt would fail as if the network had lost it", async () => {
  // With --jitless, some versions of Node end when anything imports undici.
  // Node 22 imports its own undici with node:http, which fails, too.
  const script = `
    process.on("unhandledRejection", () => {});
    delete globalThis.WebAssembly;
    const { createSender } = await import("@countersign/sender");
    await createSender({ url: "http://127.0.0.1:1/" }).catch((error) => console.log(error.message));`;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--import", AS_BUN, "--input-type=module", "--eval", script],
    { cwd: import.meta.dirname },
  );
  expect(stdout).toMatch(/^The sender needs WebAssembly.* Start Node without --jitless/);
});

it("a store on Windows without the library that libsql needs there says what to install, and not the packages, which are there", async () => {
  const thrown = asData(
    `throw Object.assign(new Error("The specified module could not be found."), { code: "ERR_DLOPEN_FAILED" })`,
  );
  const onWindows = `${resolvingBy(`(name, context, next) =>
    name === "libsql" ? { url: ${JSON.stringify(thrown)}, shortCircuit: true } : next(name, context)`)}
    Object.defineProperty(process, "platform", { value: "win32" });`;
  const script = `
    import { createSender } from "@countersign/sender";
    await createSender({ url: "http://127.0.0.1:1/" }).catch((error) => console.log(error.message));`;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--import", asData(onWindows), "--input-type=module", "--eval", script],
    { cwd: import.meta.dirname },
  );
  expect(stdout).toMatch(/libsql, cannot be loaded\. Install the Microsoft Visual C\+\+ Redistributable/);
  expect(stdout).not.toContain("packages");
});

describe("a sender under Node's permission model", () => {
  it.each([
    ["", []],
    [", also where Node may not flush it", ["--import", FLUSHING_DENIED]],
  ])("keeps its deliveries in a file%s", async (_, added) => {
    const script = `
      import { createSender, sqliteStore } from "@countersign/sender";
      const store = sqliteStore({ path: process.argv[1] });
      const sender = await createSender({ url: "http://127.0.0.1:1/", store });
      await sender.track({ userId: "u1", event: "e" });
      console.log((await sender.deliveries()).length, sender.storeState.state);
      await sender.close({ deadline: 0 });`;
    const path = join(temporaryFolder(), "deliveries.db");
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [...UNDER_PERMISSIONS, ...added, "--input-type=module", "--eval", script, path],
      { cwd: import.meta.dirname },
    );
    expect(stdout.trim()).toBe("1 up");
  });
});
