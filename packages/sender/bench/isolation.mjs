// One destination that never answers beside one that does: how much of its throughput the second keeps.
//
//   node packages/sender/bench/isolation.mjs [messages]
import { fork } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { createSender } from "@countersign/sender";

const messages = Number(process.argv[2] ?? 2_000);
const rounds = 15;

if (process.send === undefined) await measure();
else receive();

/** The receiver, in a process of its own so that it does not take part in what is measured. */
function receive() {
  const server = createServer((request, response) => {
    request.resume();
    if (request.url === "/good") response.end();
  });
  server.listen(0, "127.0.0.1", () => process.send(server.address().port));
}

/** Messages per second that reach the good destination. */
async function throughput(base, isBesideSilence) {
  const source = (name) => ({ name, destinations: [{ endpoints: [{ url: base + name }] }] });
  const sender = await createSender({ sources: [source("good"), source("silent")] });
  // Every place of the silent destination is taken, and as much again as the other one gets waits for them.
  if (isBesideSilence) await accept(sender, "silent");
  let delivered = 0;
  const done = new Promise((resolve) => {
    sender.on("delivered", () => {
      delivered += 1;
      if (delivered === messages) resolve();
    });
  });
  const start = performance.now();
  await accept(sender, "good");
  await done;
  const perSecond = (messages / (performance.now() - start)) * 1_000;
  await sender.close({ deadline: 0 });
  return perSecond;
}

async function accept(sender, source) {
  for (let accepted = 0; accepted < messages; accepted += 500) {
    const calls = Array.from({ length: 500 }, () =>
      sender.track({ userId: "u1", event: "Order Completed" }, { source }),
    );
    await Promise.all(calls);
  }
}

async function measure() {
  const receiver = fork(fileURLToPath(import.meta.url));
  const [port] = await once(receiver, "message");
  const base = `http://127.0.0.1:${port}/`;
  await throughput(base, false);
  const ratios = [];
  for (let round = 0; round < rounds; round += 1) {
    const alone = await throughput(base, false);
    const beside = await throughput(base, true);
    ratios.push(beside / alone);
    console.log(`alone ${Math.round(alone)} per second, beside one that never answers ${Math.round(beside)}`);
  }
  receiver.kill();
  const median = ratios.toSorted((a, b) => a - b)[Math.floor(rounds / 2)];
  console.log(`median ratio ${median.toFixed(2)}`);
  console.log(median >= 0.9 ? "good" : "NOT GOOD: below 0.90");
  process.exitCode = median >= 0.9 ? 0 : 1;
}
