// A program that records events with one client library: recorder.js LIBRARY SERVICE_URL. Needs --expose-gc. Asked for
// "call", it answers how many microseconds of CPU time a call takes that is queued and not sent; for "out", how many
// events a second are with the service, of 20,000; for "memory", how many bytes of memory a queued event takes.
import { setImmediate as turn, setTimeout as pause } from "node:timers/promises";
import { Analytics } from "@countersign/client";
import Rudder from "@rudderstack/rudder-sdk-node";
import { Analytics as Segment } from "@segment/analytics-node";
import { PostHog } from "posthog-node";

const [library = "", url = ""] = process.argv.slice(2);

// Rudder's library looks at everything queued on every call: with fewer events it is faster, so it gets fewer.
const EVENTS_OUT = library === "rudder" ? 2_000 : 20_000;
// Fewer than fill a request, which some would send at once.
const EVENTS_QUEUED = 1_500;
const EVENTS_CALLED = library === "rudder" ? 300 : EVENTS_QUEUED;
const EVENTS_BEFORE = 100;
/** Libraries that recorded as many events before the one that is measured. */
const WARM_UPS = 4;
/** Calls between two turns of the event loop, as in a server under load. */
const CALLS_A_TURN = 100;
const MAX_READINGS = 100;
/** A time and a number of events that no run here comes to. */
const NEVER = { flushAt: 1_000_000, flushInterval: 10 * 60_000 };

interface Recorder {
  readonly track: (userId: string, event: string, properties: Record<string, unknown>) => void;
  readonly close: () => Promise<unknown>;
}

/** Makes a client with its defaults but for bounds that would drop events; or one that queues and does not send. */
type Open = (isQueueing: boolean) => Recorder;

const libraries: Readonly<Record<string, Open>> = {
  countersign(isQueueing) {
    const analytics = new Analytics("KEY", {
      endpoint: url,
      maxQueueSize: 100_000,
      maxQueueBytes: 2 ** 28,
      ...(isQueueing ? { flushAt: 2_500, flushAfter: NEVER.flushInterval } : {}),
    });
    return {
      track: (userId, event, properties) => void analytics.track({ userId, event, properties }),
      close: () => analytics.close(),
    };
  },
  segment(isQueueing) {
    const analytics = new Segment({ writeKey: "KEY", host: url, ...(isQueueing ? NEVER : {}) });
    return {
      track: (userId, event, properties) => analytics.track({ userId, event, properties }),
      close: () => analytics.closeAndFlush({ timeout: NEVER.flushInterval }),
    };
  },
  posthog(isQueueing) {
    const posthog = new PostHog("KEY", { host: url, maxQueueSize: 2_000_000, ...(isQueueing ? NEVER : {}) });
    return {
      track: (distinctId, event, properties) => posthog.capture({ distinctId, event, properties }),
      close: () => posthog.shutdown(NEVER.flushInterval),
    };
  },
  rudder(isQueueing) {
    const rudder = new Rudder("KEY", {
      dataPlaneUrl: url,
      maxInternalQueueSize: 1_000_000,
      logLevel: "error",
      ...(isQueueing ? { ...NEVER, maxQueueSize: 2 ** 30 } : {}),
    });
    return {
      track: (userId, event, properties) =>
        void rudder.track({ userId, event, properties: properties as Record<string, string> }),
      async close() {
        // A flush sends one batch, and resolves to it; to nothing when the queue is empty.
        while (((await rudder.flush()) as unknown) !== undefined);
      },
    };
  },
};

const open = libraries[library];
const { gc } = globalThis;
if (open === undefined) throw new Error(`There is no library called ${library}.`);
if (gc === undefined) throw new Error("Run this with --expose-gc.");

async function record({ track }: Recorder, events: number): Promise<void> {
  for (let index = 0; index < events; index += 1) {
    track(`user-${index}`, "Order Completed", {
      orderId: `order-${index}`,
      total: 99.5,
      currency: "EUR",
      items: [{ sku: "a-1", quantity: 2 }],
    });
    if (index % CALLS_A_TURN === CALLS_A_TURN - 1) await turn();
  }
}

/** Lets a library that works on after its call do so. */
async function settle(): Promise<void> {
  for (let count = 0; count < 20; count += 1) await turn();
}

async function collectGarbage(): Promise<void> {
  for (let count = 0; count < 3; count += 1) {
    await settle();
    gc?.();
  }
}

async function microsecondsOfACall(): Promise<number> {
  const recorder = open?.(true) as Recorder;
  const start = process.cpuUsage();
  await record(recorder, EVENTS_CALLED);
  await settle();
  const { user, system } = process.cpuUsage(start);
  await recorder.close();
  return (user + system) / EVENTS_CALLED;
}

async function received(): Promise<number> {
  const response = await fetch(`${url}/count`);
  return Number(await response.text());
}

async function eventsOutPerSecond(): Promise<number> {
  const already = await received();
  const recorder = open?.(false) as Recorder;
  const start = performance.now();
  await record(recorder, EVENTS_OUT);
  await recorder.close();
  // A library may say that it has closed before everything has arrived.
  while ((await received()) < already + EVENTS_OUT) {
    if (performance.now() - start > 60_000)
      throw new Error(`${library} lost events: ${await received()} arrived.`);
    await turn();
  }
  return (EVENTS_OUT / (performance.now() - start)) * 1_000;
}

function memoryInUse(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** The bytes in use when garbage is collected: five readings in a row that are the same, but for a little. */
async function levelMemory(): Promise<number> {
  let last = Number.POSITIVE_INFINITY;
  for (let reading = 0, level = 0; reading < MAX_READINGS && level < 5; reading += 1) {
    await pause(50);
    await collectGarbage();
    const bytes = memoryInUse();
    level = Math.abs(bytes - last) < EVENTS_QUEUED ? level + 1 : 0;
    last = bytes;
  }
  return last;
}

async function bytesOfAQueuedEvent(): Promise<number> {
  // What a library makes once is no part of an event, nor is what the engine makes for code that has become warm.
  for (let time = 0; time < WARM_UPS; time += 1) {
    const earlier = open?.(true) as Recorder;
    await record(earlier, EVENTS_QUEUED);
    await earlier.close();
  }
  // Connections that wait for the next request have buffers, which would be freed at any time.
  await (await fetch(`${url}/close`)).text();
  await levelMemory();
  const recorder = open?.(true) as Recorder;
  await record(recorder, EVENTS_BEFORE);
  const before = await levelMemory();
  await record(recorder, EVENTS_QUEUED);
  const bytes = (await levelMemory()) - before;
  await recorder.close();
  return bytes / EVENTS_QUEUED;
}

const measures: Readonly<Record<string, () => Promise<number>>> = {
  call: microsecondsOfACall,
  out: eventsOutPerSecond,
  memory: bytesOfAQueuedEvent,
};

process.on("message", (what: string) => void measures[what]?.().then((value) => process.send?.(value)));
process.send?.("ready");
