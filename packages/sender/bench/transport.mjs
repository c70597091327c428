// What verification, limits and classification cost: attempts per second, against undici used bare in the same run.
//
//   node packages/sender/bench/transport.mjs [attempts]
import { fork } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { createTransport } from "@countersign/sender";
import { Pool } from "undici";

const attempts = Number(process.argv[2] ?? 20_000);
const rounds = 5;
const concurrency = 20;
const headers = { "Content-Type": "application/json", "X-Signature": "0".repeat(40) };
const body = Buffer.from(
  JSON.stringify({ type: "track", event: "Order Completed", properties: { note: "x".repeat(900) } }),
);

if (process.send === undefined) await measure();
else receive();

/** The receiver, in a process of its own so that it does not take part in what is measured. */
function receive() {
  const server = createServer((request, response) => {
    request.resume().on("end", () => response.end("ok"));
  });
  server.listen(0, "127.0.0.1", () => process.send(server.address().port));
}

async function measure() {
  const receiver = fork(fileURLToPath(import.meta.url));
  const [port] = await once(receiver, "message");
  const url = `http://127.0.0.1:${port}/`;
  const transport = createTransport();
  const pool = new Pool(url);
  const ours = () => transport.send({ url, headers, body }, { timeoutMs: 5_000 });
  const bare = async () => {
    const response = await pool.request({ method: "POST", path: "/", headers, body });
    await response.body.arrayBuffer();
  };
  await perSecond(ours);
  await perSecond(bare);
  const ratios = [];
  for (let round = 0; round < rounds; round += 1) {
    const [ourRate, bareRate] = [await perSecond(ours), await perSecond(bare)];
    ratios.push(ourRate / bareRate);
    console.log(
      `transport ${Math.round(ourRate)}/s, undici ${Math.round(bareRate)}/s, ratio ${(ourRate / bareRate).toFixed(2)}`,
    );
  }
  ratios.sort((a, b) => a - b);
  console.log(`median ratio of ${rounds} rounds: ${ratios[Math.floor(rounds / 2)].toFixed(2)}`);
  await transport.close();
  await pool.destroy();
  receiver.kill();
}

async function perSecond(attempt) {
  let left = attempts;
  const start = performance.now();
  const work = async () => {
    while (left > 0) {
      left -= 1;
      await attempt();
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  return (attempts / (performance.now() - start)) * 1_000;
}
