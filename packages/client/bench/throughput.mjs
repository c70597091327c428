// Events per second from the call to the service's 200, this library against @segment/analytics-node 3.1.0: the same
// events, the same server, in turns, in one run of some 20 seconds.
//   node packages/client/bench/throughput.mjs
import { Analytics } from "@countersign/client";
import { Analytics as Segment } from "@segment/analytics-node";
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const EVENTS = 5_000;
const ROUNDS = 3;

/** The calls of a server under load: so many at a time, then the event loop gets its turn. */
async function record(track, onTurn) {
  for (let n = 0; n < EVENTS; n += 1) {
    track(n);
    if (n % 100 === 99) await onTurn();
  }
}

const turn = () => new Promise((resolve) => setImmediate(resolve));
const properties = (n) => ({
  orderId: `o${n}`,
  total: 99.5,
  currency: "EUR",
  items: [{ sku: "a-1", quantity: 2 }],
});

async function ours(url) {
  const analytics = new Analytics("KEY", { endpoint: url, maxQueueSize: 100_000, maxQueueBytes: 2 ** 28 });
  await record(
    (n) => analytics.track({ userId: `u${n}`, event: "Order Completed", properties: properties(n) }),
    turn,
  );
  const { delivered } = await analytics.close();
  return delivered;
}

async function segment(url, flushAt) {
  const analytics = new Segment({ writeKey: "KEY", host: url, flushAt, flushInterval: 5_000 });
  let delivered = 0;
  const count = (error) => (delivered += error ? 0 : 1);
  const track = (n) => {
    analytics.track({ userId: `u${n}`, event: "Order Completed", properties: properties(n) }, count);
  };
  await record(track, turn);
  await analytics.closeAndFlush({ timeout: 60_000 });
  return delivered;
}

const contenders = [
  { name: "@countersign/client, defaults", run: ours },
  { name: "@segment/analytics-node, defaults (flushAt 15)", run: (url) => segment(url, 15) },
  { name: "@segment/analytics-node, flushAt 1,000", run: (url) => segment(url, 1_000) },
];

// In a process of its own, so that its work is not counted as a client's.
const server = fork(fileURLToPath(new URL("service.mjs", import.meta.url)));
const [url] = await once(server, "message");
const results = contenders.map(() => []);
for (let round = 0; round <= ROUNDS; round += 1) {
  for (const [index, { name, run }] of contenders.entries()) {
    const cpu = process.cpuUsage();
    const since = performance.now();
    const delivered = await run(url);
    const seconds = (performance.now() - since) / 1_000;
    const { user, system } = process.cpuUsage(cpu);
    if (delivered !== EVENTS) throw new Error(`${name} delivered ${delivered} of ${EVENTS}.`);
    // The first round warms up.
    if (round > 0) results[index].push({ perSecond: EVENTS / seconds, cpu: (user + system) / EVENTS });
  }
}
server.kill();

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
const rows = results.map((runs, index) => {
  const of = (name) => median(runs.map((run) => run[name]));
  return { name: contenders[index].name, perSecond: of("perSecond"), cpu: of("cpu") };
});
for (const { name, perSecond, cpu } of rows) {
  const ratio = (rows[0].perSecond / perSecond).toFixed(1);
  console.log(
    `${name.padEnd(48)} ${Math.round(perSecond).toLocaleString("en").padStart(8)} events/s  ${cpu.toFixed(1).padStart(6)} µs CPU each  1 : ${ratio}`,
  );
}
