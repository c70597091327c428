import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { documentedReceiver } from "../packages/certify/test/support/documented-receiver.ts";
import { freePort } from "./support/free-port.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const SECRET = "the receiver's secret";

/** The examples that Node starts, as they say, on PORT. Those of other runtimes and hosts are certified by tests/hosts. */
const receivers = readdirSync(join(root, "examples")).filter((name) => {
  const file = join(root, "examples", name, "package.json");
  return existsSync(file) && readFileSync(file, "utf8").includes("&& node dist/server.js");
});

async function listen(app: RequestListener): Promise<number> {
  const server = createServer(app).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  onTestFinished(() => void server.close());
  return port;
}

async function startExample(name: string): Promise<string> {
  const port = await freePort();
  const child = spawn(process.execPath, [join(root, "examples", name, "dist", "server.js")], {
    env: { PATH: process.env["PATH"], PORT: String(port), WEBHOOK_SECRET: SECRET },
  });
  onTestFinished(() => void child.kill());
  const url = `http://127.0.0.1:${port}/webhooks`;
  await vi.waitFor(() => fetch(url));
  return url;
}

interface Certified {
  readonly code: number;
  readonly output: string;
  readonly junit: string;
}

async function certify(url: string): Promise<Certified> {
  const directory = mkdtempSync(join(tmpdir(), "countersign-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const junit = join(directory, "certify.xml");
  const bin = join(root, "packages", "cli", "dist", "bin.js");
  const child = spawn(process.execPath, [bin, "certify", url, "--secret", SECRET, "--junit", junit]);
  let output = "";
  child.stdout.on("data", (data: Buffer) => (output += data.toString()));
  child.stderr.on("data", (data: Buffer) => (output += data.toString()));
  const [code] = await once(child, "close");
  return { code, output, junit: readFileSync(junit, "utf8") };
}

describe("countersign certify", () => {
  it("has receivers to look at", () => {
    expect(receivers).toContain("express");
  });

  it.each(receivers)("passes the example receiver in examples/%s", async (name) => {
    const { code, output, junit } = await certify(await startExample(name));
    expect(output.split("\n").filter((line) => line.startsWith("✗"))).toEqual([]);
    expect(output).toMatch(/^MUST (\d+) of \1, SHOULD (\d+) of \2, in .* s: passed$/m);
    expect(junit).toContain('failures="0"');
    expect(code).toBe(0);
  });

  it("fails the documented hand-written receiver, says why, and exits 1", async () => {
    const port = await listen(documentedReceiver(SECRET));
    const { code, output, junit } = await certify(`http://127.0.0.1:${port}/webhooks`);
    expect(output).toMatch(
      /^✗ MUST +.*\(rejects-declared-oversize\): it read all 64 MiB\n +sent: .*\n +expected: .*\n +received: .*\n +fix: /m,
    );
    expect(output).toMatch(/: failed$/m);
    expect(junit).toContain("<failure ");
    expect(code).toBe(1);
  });
});
