import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { startServe } from "../support/command.ts";
import { send } from "../../../server/test/support/http.ts";
import { cleanUp } from "../../../../tests/support/resources.ts";

const MEGABYTE = 1_048_576;

async function memoryOf(url: string): Promise<number> {
  const { text } = await send(`${url}/metrics`);
  const [, bytes] = /^process_resident_memory_bytes (\d+)/m.exec(text) ?? [];
  return Number(bytes);
}

async function startWarm(): Promise<string> {
  const { url } = await startServe(["--to", "http://127.0.0.1:9/"]);
  for (let n = 0; n < 50; n += 1) await memoryOf(url);
  return url;
}

it("the headers of 10,000 slow connections cost bounded memory and keep no one out", async () => {
  const url = await startWarm();
  const before = await memoryOf(url);
  const { port } = new URL(url);
  const open = new Set<Socket>();
  cleanUp(() => open.forEach((socket) => socket.destroy()));
  const headers = `POST /v1/track HTTP/1.1\r\nHost: x\r\nX: ${"x".repeat(12_000)}\r\n`;
  for (let wave = 0; wave < 40; wave += 1) {
    const connected = Array.from({ length: 250 }, async () => {
      const socket = connect(Number(port), "127.0.0.1");
      socket.on("error", () => {});
      open.add(socket.once("close", () => open.delete(socket)));
      await once(socket, "connect");
      socket.write(headers);
    });
    await Promise.all(connected);
    expect((await send(`${url}/healthz`)).status).toBe(200);
  }
  // A thousand connections may be open, with 16 KiB of headers each.
  expect((await memoryOf(url)) - before).toBeLessThan(150 * MEGABYTE);
}, 60_000);

it("bombs, batches that are too large and bodies that never end cost bounded memory", async () => {
  const url = await startWarm();
  const before = await memoryOf(url);
  const bomb = gzipSync(Buffer.alloc(200 * MEGABYTE));
  expect(bomb.length).toBeLessThan(512_000);
  const large = Buffer.alloc(600_000, "x");
  for (let n = 0; n < 40; n += 1) {
    const answers = await Promise.all([
      fetch(`${url}/v1/batch`, { method: "POST", body: bomb, headers: { "content-encoding": "gzip" } }),
      fetch(`${url}/v1/batch`, { method: "POST", body: large }),
    ]);
    for (const answer of answers) {
      expect(await answer.json()).toMatchObject({
        code: "payload_too_large",
        message: "Exceed payload limit",
      });
    }
  }
  expect((await memoryOf(url)) - before).toBeLessThan(150 * MEGABYTE);
}, 60_000);
