import { spawn } from "node:child_process";
import { once } from "node:events";
import { Agent, get } from "node:http";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished, vi } from "vitest";
import { isWindows, noPosix } from "../../core/test/support/windows.ts";
import { startService } from "./support/service.ts";

it.skipIf(isWindows)(`a graceful shutdown delivers the events of 1,000 requests${noPosix}`, async () => {
  const service = await startService();
  const script = fileURLToPath(new URL("support/child-server.mjs", import.meta.url));
  const child = spawn(process.execPath, [script, service.url], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  await vi.waitFor(() => expect(output).toMatch(/^\d+\n$/));
  const port = output.trim();

  const agent = new Agent({ keepAlive: true, maxSockets: 50 });
  const request = (n: number): Promise<void> =>
    new Promise((resolve, reject) => {
      get({ port, host: "127.0.0.1", path: `/${n}`, agent }, (response) =>
        response.resume().on("end", resolve),
      ).on("error", reject);
    });
  await Promise.all(Array.from({ length: 1_000 }, (_, n) => request(n)));
  agent.destroy();
  // Some of them are still queued.
  child.kill("SIGTERM");
  const [code] = (await once(child, "close")) as [number];

  expect(code).toBe(0);
  expect(JSON.parse(output.split("\n")[1] ?? "")).toEqual({
    delivered: 1_000,
    failed: 0,
    dropped: 0,
    pending: 0,
  });
  const urls = service.messages.map((message) => message.properties?.["url"]);
  expect(new Set(urls).size).toBe(1_000);
});
