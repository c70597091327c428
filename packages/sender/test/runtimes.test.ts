import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { asData, resolvingBy } from "../../../tests/support/resolve-otherwise.ts";
import { UNDER_PERMISSIONS } from "../../../tests/support/permission-model.ts";
import { AS_BUN } from "./support/as-bun.ts";
import { FLUSHING_DENIED } from "./support/flushing-denied.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const LIBSQL = dirname(createRequire(import.meta.url).resolve("libsql"));

const isLinux = process.platform === "linux";
const noLimit = isLinux ? "" : " (skipped: only Linux limits the addresses of a process)";

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

it.skipIf(!isLinux)(
  `a sender without addresses for WebAssembly is refused at its start: each attempt would fail as if the network had lost it${noLimit}`,
  async () => {
    // Where Node finds too few, a newer one reserves none, and the sender gets as far as the undici of Bun.
    const script = `
      import { createSender } from "@countersign/sender";
      const reserves = (() => { try { return !new WebAssembly.Memory({ initial: 1 }); } catch { return true; } })();
      await createSender({ url: "http://127.0.0.1:1/" }).catch((error) => console.log(reserves, error.message));`;
    const node = [process.execPath, "--import", AS_BUN, "--input-type=module", "--eval", script];
    const { stdout } = await promisify(execFile)("sh", ["-c", 'ulimit -v 8000000; exec "$0" "$@"', ...node], {
      cwd: import.meta.dirname,
    });
    expect(stdout).toMatch(
      /^true The sender needs WebAssembly.* limit .*ulimit -v.* --disable-wasm-trap-handler|^false The sender runs on Node only/,
    );
  },
);

it.skipIf(!isLinux)(
  `an attempt for which WebAssembly has no addresses left says so, and not that the connection failed${noLimit}`,
  async () => {
    const script = `
      import { once } from "node:events";
      import { createServer } from "node:http";
      import { createTransport } from "@countersign/sender";
      // The undici of Node may have none either.
      process.on("unhandledRejection", () => {});
      const server = createServer((_, response) => response.end()).listen(0, "127.0.0.1");
      await once(server, "listening");
      const url = "http://127.0.0.1:" + server.address().port;
      const transport = createTransport();
      const taken = [];
      try { while (taken.length < 10) taken.push(new WebAssembly.Memory({ initial: 1 })); } catch {}
      const request = { url, headers: {}, body: new Uint8Array() };
      const { outcome, code = "" } = await transport.send(request, { timeoutMs: 5_000 });
      console.log(taken.length < 10, outcome, code);
      process.exit();`;
    // Of two memories, Node 20 has one itself. A newer one may reserve none with so few.
    const node = [process.execPath, "--input-type=module", "--eval", script];
    const { stdout } = await promisify(execFile)(
      "sh",
      ["-c", 'ulimit -v 25000000; exec "$0" "$@"', ...node],
      {
        cwd: import.meta.dirname,
      },
    );
    expect(stdout).toMatch(/^true network ERR_WASM_MEMORY$|^false success $/m);
  },
);

describe("a store whose database, libsql, cannot be loaded", () => {
  /** The error of a sender on a platform, where the import of libsql fails with a code. */
  async function refusalOn(platform: string, arch: string, code: string): Promise<string> {
    const thrown = asData(`throw Object.assign(new Error("The reason."), { code: ${JSON.stringify(code)} })`);
    const there = `${resolvingBy(`(name, context, next) =>
      name === "libsql" ? { url: ${JSON.stringify(thrown)}, shortCircuit: true } : next(name, context)`)}
      Object.defineProperty(process, "platform", { value: ${JSON.stringify(platform)} });
      Object.defineProperty(process, "arch", { value: ${JSON.stringify(arch)} });`;
    const script = `
      import { createSender } from "@countersign/sender";
      await createSender({ url: "http://127.0.0.1:1/" }).catch((error) => console.log(error.code, error.message));`;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ["--import", asData(there), "--input-type=module", "--eval", script],
      { cwd: import.meta.dirname },
    );
    return stdout;
  }

  it("says on Windows without the library that it needs there what to install, and not the packages, which are there", async () => {
    const refusal = await refusalOn("win32", "x64", "ERR_DLOPEN_FAILED");
    expect(refusal).toMatch(/libsql, cannot be loaded\. Install the Microsoft Visual C\+\+ Redistributable/);
    expect(refusal).not.toContain("packages");
  });

  it.each([
    ["linux", "s390x"],
    ["linux", "ppc64"],
    ["freebsd", "x64"],
    ["win32", "arm64"],
  ])("says that there is none for %s on %s, and what works there, and not to install it", async (...on) => {
    const refusal = await refusalOn(...on, "MODULE_NOT_FOUND");
    expect(refusal).toMatch(
      /^ERR_STORE_OPEN .* It has no build for \w+-\w+, only for darwin-arm64, .*, or keep deliveries in PostgreSQL\. \(The reason\.\)\n$/,
    );
    expect(refusal).toContain(on.join("-"));
    expect(refusal).not.toContain("Install");
  });

  it.each(["MODULE_NOT_FOUND", "ERR_MODULE_NOT_FOUND"])(
    "says what to do about a lockfile that was written elsewhere, as npm 10 writes it: %s",
    async (code) => {
      const refusal = await refusalOn("linux", "arm64", code);
      expect(refusal).toMatch(
        /Install the packages on this machine, .*for linux-arm64 is then still missing, remove node_modules and package-lock\.json/,
      );
    },
  );

  it("says of which builds there are", async () => {
    const { neon } = JSON.parse(readFileSync(join(LIBSQL, "package.json"), "utf8")) as {
      readonly neon: Neon;
    };
    const machines = Object.values(neon.targets).map((name) => /^@libsql\/(\w+-\w+)/.exec(name)?.[1]);
    const [, builds = ""] = / only for ([^.]+)\. /.exec(await refusalOn("linux", "s390x", "")) ?? [];
    expect(builds.split(", ")).toEqual([...new Set(machines)].toSorted());
  });
});

/** What libsql says of its builds: each with the name of its package, such as `@libsql/linux-arm64-gnu`. */
interface Neon {
  readonly targets: Readonly<Record<string, string>>;
}

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
