// One process of a fleet: it accepts calls that its parent sends it, delivers, or both. Its options are JSON in argv.
import { readFileSync } from "node:fs";
import { systemClock } from "@countersign/protocol";
import { createSender, shardedStore } from "@countersign/sender";
import { postgresStore } from "@countersign/postgres";

const {
  url,
  schema,
  lease,
  to,
  role,
  concurrency = 50,
  clockOffsetMs = 0,
  openWithin,
  other,
} = JSON.parse(process.argv[2]);

/** A clock that is wrong by some time. */
function wrongClock() {
  const clock = systemClock();
  return {
    now: () => clock.now() + clockOffsetMs,
    schedule: (at, task) => clock.schedule(at - clockOffsetMs, task),
    hold: () => () => {},
  };
}

const main = postgresStore({ url, schema, lease, openWithin });
const database =
  other === undefined
    ? main
    : shardedStore({ main, other: postgresStore({ ...other, lease, openWithin }) }, (source) =>
        source === "app" ? "other" : "main",
      );
/** Makes calls of one messageId repeats of each other, as a server does, and tells the parent what the store tells the sender. */
const changes = {
  open: (context) => {
    const stateChanged = (state) => {
      process.send?.({ kind: "state", ...state });
      context.stateChanged(state);
    };
    return database.open({ ...context, stateChanged });
  },
  accept: (acceptance) => {
    const calls = acceptance.calls.map((call) => ({ ...call, key: call.messageId }));
    return database.accept({ ...acceptance, calls, uniqueForMs: 86_400_000 });
  },
  consume: (destination, most, handler) => {
    if (role === "ingest") return { stop: async () => {} };
    return database.consume(destination, most, {
      deliver: (due, signal) => handler.deliver(due, signal),
      settled: (due, settlement) => handler.settled(due, settlement),
      lost: (due, settlement) => {
        process.send?.({ kind: "lost", messageId: due.delivery.messageId });
        handler.lost(due, settlement);
      },
    });
  },
};
const store = new Proxy(database, {
  get(target, name) {
    const value = changes[name] ?? target[name];
    return typeof value === "function" ? value.bind(target) : value;
  },
});
const destinations = [{ name: "main", concurrency, endpoints: [{ url: to }] }];
const sender = await createSender({
  sources: ["shop", ...(other === undefined ? [] : ["app"])].map((name) => ({ name, destinations })),
  store,
  ...(clockOffsetMs !== 0 && { clock: wrongClock() }),
});
sender.on("storeError", ({ error }) =>
  process.send?.({ kind: "storeError", code: error.code, message: error.message }),
);
for (const event of ["failed", "expired"]) {
  sender.on(event, ({ delivery }) => process.send?.({ kind: event, messageId: delivery.messageId }));
}
sender.on("delivered", ({ delivery }) =>
  process.send?.({ kind: "delivered", messageId: delivery.messageId }),
);

const accept = async (from, count, source) => {
  const calls = Array.from({ length: count }, (_, index) => ({
    type: "track",
    event: "Order Completed",
    userId: `u${from + index}`,
    messageId: `m${from + index}`,
    timestamp: new Date().toISOString(),
  }));
  await sender.accept(calls, { source });
};

async function follow(message) {
  if (message.kind === "accept") {
    const { from, count, source } = message;
    try {
      await accept(from, count, source);
      process.send({ kind: "accepted", from, count });
    } catch (error) {
      process.send({ kind: "refused", from, count, code: error.code, message: error.message });
    }
  } else if (message.kind === "block") {
    process.send({ kind: "blocking" });
    // The loop is blocked until someone writes to the pipe: nothing of this process runs, its heartbeat included.
    readFileSync(message.pipe);
    process.send({ kind: "unblocked" });
  } else if (message.kind === "close") {
    await sender.close();
    process.disconnect();
  }
}

// Other work of the machine may hold the process up: then it loses its lease, and is not waited for.
const LOOK_EVERY_MS = 50;
let looksAt = performance.now() + LOOK_EVERY_MS;
setInterval(() => {
  const ms = Math.round(performance.now() - looksAt);
  looksAt = performance.now() + LOOK_EVERY_MS;
  if (ms > 100) process.send?.({ kind: "heldUp", ms });
}, LOOK_EVERY_MS).unref();

process.on("message", (message) => void follow(message));
process.on("disconnect", () => process.exit(0));
process.send({ kind: "ready" });
