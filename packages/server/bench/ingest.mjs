// How many calls a second the server accepts over HTTP, durably, in batches of 100 as client libraries send them: against
// the sender alone, called directly in the same process with the same store, which is the limit. And what the wire costs
// by itself: against a bare Fastify route that parses the same JSON and answers.
//
//   node packages/server/bench/ingest.mjs
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer as createTcpServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { createSender, sqliteStore } from "@countersign/sender";
import { createServer } from "@countersign/server";
import Fastify from "fastify";

const BATCH_SIZE = 100;
const AT_ONCE = 16;
const SLICE_MS = 1_000;
const ROUNDS = 5;
const folder = mkdtempSync(join(tmpdir(), "countersign-ingest-"));
let ids = 0;

const call = () => ({
  type: "track",
  messageId: `m${(ids += 1)}`,
  userId: "u-1842",
  event: "Order Completed",
  properties: { orderId: "o-7", total: 99.5, currency: "EUR", items: [{ sku: "a-1", quantity: 2 }] },
  context: { library: { name: "bench", version: "1.0.0" } },
  timestamp: "2026-11-20T16:02:14.510Z",
});
const batch = () => Array.from({ length: BATCH_SIZE }, call);

/** Does `step` in several strands for a while; returns calls per second. */
async function rate(step) {
  const start = performance.now();
  let done = 0;
  const strand = async () => {
    while (performance.now() - start < SLICE_MS) {
      await step();
      done += BATCH_SIZE;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, strand));
  return (done / (performance.now() - start)) * 1_000;
}

function poster(url) {
  return async () => {
    const body = JSON.stringify({ writeKey: "any", batch: batch(), sentAt: new Date().toISOString() });
    const answer = await fetch(`${url}/v1/batch`, { method: "POST", body });
    if (answer.status !== 200) throw new Error(`answered ${answer.status}`);
    await answer.arrayBuffer();
  };
}

// A receiver that never answers holds every slot of its destination: what is measured is accepting, not sending.
const silent = createTcpServer(() => {}).listen(0, "127.0.0.1");
await once(silent, "listening");
const to = `http://127.0.0.1:${silent.address().port}/`;

const sender = await createSender({ url: to, store: sqliteStore({ path: join(folder, "sender.db") }) });
const server = await createServer({ to, port: 0, data: join(folder, "server") });
const bare = Fastify({ bodyLimit: 1_048_576 });
bare.post("/v1/batch", async () => ({ success: true }));
await bare.listen({ port: 0, host: "127.0.0.1" });

const throughServer = poster(server.url);
const throughBare = poster(`http://127.0.0.1:${bare.server.address().port}`);
const direct = () => Promise.all(batch().map(({ type: _, ...fields }) => sender.track(fields)));

const measured = { sender: [], server: [], bare: [] };
for (let round = 0; round <= ROUNDS; round += 1) {
  const rates = {
    sender: await rate(direct),
    server: await rate(throughServer),
    bare: await rate(throughBare),
  };
  // The first round warms up.
  if (round > 0) for (const [name, value] of Object.entries(rates)) measured[name].push(value);
}

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
const [ofSender, ofServer, ofBare] = [
  median(measured.sender),
  median(measured.server),
  median(measured.bare),
];
console.log(`sender alone, durable    ${Math.round(ofSender)} calls/s`);
console.log(
  `server, durable          ${Math.round(ofServer)} calls/s = ${(ofServer / ofSender).toFixed(2)} of the sender alone`,
);
console.log(
  `bare Fastify, no storage ${Math.round(ofBare)} calls/s = ${(ofBare / ofServer).toFixed(1)} times the server`,
);

await bare.close();
await sender.close({ deadline: 0 });
await server.close({ deadlineMs: 0 });
silent.close();
rmSync(folder, { recursive: true });
