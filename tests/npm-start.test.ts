import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished, vi } from "vitest";
import { isWindows, noPosix } from "../packages/core/test/support/windows.ts";
import { post } from "./support/post.ts";
import { freePort } from "./support/free-port.ts";

it.skipIf(isWindows)(`npm start runs and stops the server and the example receiver${noPosix}`, async () => {
  const port = await freePort();
  const script = fileURLToPath(new URL("../scripts/start.mjs", import.meta.url));
  const child = spawn(process.execPath, [script, "--port", "0"], {
    env: { PATH: process.env["PATH"], RECEIVER_PORT: String(port) },
  });
  const ended = once(child, "exit");
  onTestFinished(() => void child.kill("SIGKILL"));
  let output = "";
  child.stdout.on("data", (data: Buffer) => (output += data.toString()));
  child.stderr.on("data", (data: Buffer) => (output += data.toString()));
  await vi.waitFor(() => expect(output).toMatch(/Look at +http:\S+ for deliveries/), { timeout: 100_000 });
  await vi.waitFor(() => expect(output).toContain(`Receiving webhooks at http://127.0.0.1:${port}/webhooks`));

  // The server waits for a second: a busy machine may take longer to connect. That nothing listens it would say at once.
  expect(output).toMatch(new RegExp(`^Receiver +(?:localhost:${port} answers|does not answer yet)$`, "m"));
  const [, body = "", url = ""] = /Try it +curl -d '(.*)' (\S+)/.exec(output) ?? [];
  expect((await post(url, { headers: {}, body })).body).toEqual({ success: true });
  await vi.waitFor(() => expect(output).toMatch(/^track +Hello/m));
  // The receiver has it before the server has its answer.
  await vi.waitFor(async () => {
    const deliveries = await (await fetch(new URL("/api/deliveries", url))).text();
    expect(deliveries).toMatch(/"event":"Hello".*"state":"delivered"/);
  });
  const page = await (await fetch(new URL("/", url))).text();
  expect(page).toContain("<title>Countersign</title>");

  child.kill("SIGTERM");
  expect(await ended).toEqual([0, null]);
  await expect(fetch(`http://127.0.0.1:${port}/webhooks`)).rejects.toThrow("fetch failed");
});
