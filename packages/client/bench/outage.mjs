// How many of 10,000 events arrive that are recorded while the service is down: this library against
// @segment/analytics-node 3.1.0, each with its defaults, under a virtual clock. Prints the table of the README.
//   node packages/client/bench/outage.mjs
import { Analytics } from "@countersign/client";
import { memoryTransport, virtualClock } from "@countersign/client/testing";

const EVENTS = 10_000;
const MINUTE = 60_000;
const REFUSED = "connections refused";
const OUTAGES = [
  { name: `90 seconds, ${REFUSED}`, minutes: 1.5 },
  { name: `30 minutes, ${REFUSED}`, minutes: 30 },
  { name: "30 minutes of 503", minutes: 30, status: 503 },
  { name: "30 minutes of 503, `Retry-After: 0`", minutes: 30, status: 503, retryAfter: "0" },
  { name: "30 minutes of 429, `Retry-After: 0`", minutes: 30, status: 429, retryAfter: "0" },
  { name: "30 minutes of 429, `Retry-After: 60`", minutes: 30, status: 429, retryAfter: "60" },
];

const headersOf = ({ retryAfter }) => (retryAfter === undefined ? {} : { "retry-after": retryAfter });
const refused = () => Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });

async function ours(outage) {
  const clock = virtualClock();
  const service = memoryTransport();
  const back = clock.now() + outage.minutes * MINUTE;
  const { status } = outage;
  service.replyAlways(() => {
    if (clock.now() >= back) return {};
    return status === undefined ? refused() : { status, headers: headersOf(outage) };
  });
  const analytics = new Analytics("KEY", { clock, transport: service });
  for (let n = 0; n < EVENTS; n += 1) analytics.track({ userId: `u${n}`, event: "Order Completed" });
  await clock.advance((outage.minutes + 10) * MINUTE);
  return service.messages.length;
}

/** The published client takes no clock, so the machine's is replaced before it is loaded. */
const time = virtualClock();
const { setTimeout, clearTimeout, Date: RealDate } = globalThis;
globalThis.Date = class extends RealDate {
  constructor(...values) {
    super(...(values.length === 0 ? [time.now()] : values));
  }
  static now() {
    return time.now();
  }
};
globalThis.setTimeout = (task, delay = 0, ...values) =>
  time.schedule(time.now() + delay, () => task(...values));
globalThis.clearTimeout = (timer) => timer?.cancel?.();
process.setMaxListeners(0);
const { Analytics: Published } = await import("@segment/analytics-node");

async function published(outage) {
  const arrived = new Set();
  const back = time.now() + outage.minutes * MINUTE;
  const httpClient = {
    async makeRequest({ body }) {
      if (time.now() < back) {
        if (outage.status === undefined) throw refused();
        return { status: outage.status, statusText: "", headers: headersOf(outage) };
      }
      for (const { messageId } of JSON.parse(body).batch) arrived.add(messageId);
      return { status: 200, statusText: "OK", headers: {} };
    },
  };
  const analytics = new Published({ writeKey: "KEY", httpClient });
  // Without a listener it would throw what it could not deliver.
  analytics.on("error", () => {});
  for (let n = 0; n < EVENTS; n += 1) analytics.track({ userId: `u${n}`, event: "Order Completed" });
  await time.advance((outage.minutes + 10) * MINUTE);
  return arrived.size;
}

const number = (value) => value.toLocaleString("en");
console.log("| the service is down for | @countersign/client | @segment/analytics-node 3.1.0 |");
console.log("| --- | --- | --- |");
for (const outage of OUTAGES) {
  console.log(`| ${outage.name} | ${number(await ours(outage))} | ${number(await published(outage))} |`);
}
globalThis.setTimeout = setTimeout;
globalThis.clearTimeout = clearTimeout;
