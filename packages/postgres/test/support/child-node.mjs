// One process of a fleet: it accepts calls that its parent sends it, delivers, or both. Its options are JSON in argv.
import { systemClock } from "@countersign/protocol";
import { createSender } from "@countersign/sender";
import { postgresStore } from "@countersign/postgres";

const { url, schema, lease, to, role, concurrency = 50, clockOffsetMs = 0, openWithin } = JSON.parse(process.argv[2]);

/** A clock that is wrong by some time. */
function wrongClock() {
  const clock = systemClock();
  return {
    now: () => clock.now() + clockOffsetMs,
    schedule: (at, task) => clock.schedule(at - clockOffsetMs, task),
    hold: () => () => {},
  };
}

const store = postgresStore({ url, schema, lease, openWithin });
const destinations = [{ name: "main", concurrency, endpoints: [{ url: to }] }];
const sender = await createSender({
  sources: [{ name: "shop", destinations }],
  store,
  deliver: role !== "ingest",
  ...(clockOffsetMs !== 0 && { clock: wrongClock() }),
});
sender.on("storeError", ({ error }) => process.send?.({ kind: "storeError", code: error.code, message: error.message }));
sender.on("storeState", ({ state, reason }) => process.send?.({ kind: "state", state, reason }));
for (const event of ["delivered", "lost"]) {
  try {
    sender.on(event, ({ delivery }) => process.send?.({ kind: event, id: delivery.id, messageId: delivery.messageId }));
  } catch {
    // A version of the sender without the event.
  }
}

const accept = async (from, count) => {
  const calls = Array.from({ length: count }, (_, index) => ({
    type: "track",
    event: "Order Completed",
    userId: `u${from + index}`,
    messageId: `m${from + index}`,
    timestamp: new Date().toISOString(),
    key: `m${from + index}`,
  }));
  const receipts = await sender.accept(calls, { source: "shop", uniqueFor: "24h" });
  return receipts.filter(({ repeat }) => repeat !== true).length;
};

process.on("message", async (message) => {
  if (message.kind === "accept") {
    const { from, count } = message;
    try {
      process.send({ kind: "accepted", from, count, fresh: await accept(from, count) });
    } catch (error) {
      process.send({ kind: "refused", from, count, code: error.code, message: error.message });
    }
  } else if (message.kind === "block") {
    // The loop is blocked: nothing of this process runs, its heartbeat included.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, message.ms);
    process.send({ kind: "unblocked" });
  } else if (message.kind === "close") {
    await sender.close();
    process.disconnect();
  }
});
process.on("disconnect", () => process.exit(0));
process.send({ kind: "ready" });
