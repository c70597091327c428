// Runs on every runtime, without a test framework: prints "ok", or fails with an exception (exit code 1).
//   node | bun | deno run -A  packages/client/test/runtimes/smoke.mjs
// On workerd, where nothing may start before the first request, bundle it and call `smoke()`, which returns "ok".
import { Analytics, ValidationError } from "../../dist/index.js";
import { memoryTransport, virtualClock } from "../../dist/testing.js";

const isWorkerd = globalThis.navigator?.userAgent === "Cloudflare-Workers";

function check(condition, what) {
  if (!condition) throw new Error(`Failed: ${what}`);
}

async function inMemory() {
  const service = memoryTransport();
  const clock = virtualClock();
  const analytics = new Analytics("KEY", { transport: service, clock, gzip: false });
  const receipts = [
    analytics.identify({ userId: "u1", traits: { name: "Ada 😀" } }),
    analytics.track({ userId: "u1", event: "Order Completed", properties: { total: 9.5 } }),
    analytics.page({ anonymousId: "a1", name: "Home", traits: { path: "/" } }),
    analytics.screen({ userId: "u1", name: "Cart" }),
    analytics.group({ userId: "u1", groupId: "g1" }),
    analytics.alias({ userId: "u1", previousId: "a1" }),
  ];
  await clock.advance(5_000);
  check(service.requests.length === 1, "the interval flushes");
  check(service.messages.length === 6, "six calls arrive");
  for (const receipt of receipts) check((await receipt).status === "delivered", "receipts tell");
  service.assertSent({ type: "page", properties: { path: "/" } });
  try {
    analytics.track({ userId: "u1", event: "" });
    check(false, "a missing event is refused");
  } catch (error) {
    check(error instanceof ValidationError && error.field === "event", "the error names the field");
  }
  service.reply({ status: 503, headers: { "retry-after": "60" } });
  const late = analytics.track({ userId: "u1", event: "Late" });
  const closing = analytics.close();
  await clock.advance(61_000);
  check((await closing).delivered === 7 && late.outcome.status === "delivered", "a retry delivers");
}

/** More than a block holds, so that it is packed where that can be loaded. */
async function queued() {
  const service = memoryTransport();
  const analytics = new Analytics("KEY", { transport: service, flushAt: 2_500 });
  for (let n = 0; n < 1_000; n += 1) analytics.track({ userId: `u${n}`, event: "Queued", properties: { n } });
  await new Promise((resolve) => setTimeout(resolve, 0));
  check((await analytics.close()).delivered === 1_000, "a queue of several blocks arrives");
  check(
    service.messages.every(({ properties }, n) => properties.n === n),
    "it arrives in order",
  );
}

async function gzipped() {
  if (typeof CompressionStream === "undefined") return;
  const service = memoryTransport();
  const analytics = new Analytics("KEY", { transport: service, gzip: true });
  analytics.track({ userId: "u1", event: "Zipped" });
  check((await analytics.close()).delivered === 1, "gzip delivers");
  service.assertSent({ event: "Zipped" });
}

/** A real request through global fetch, where this runtime can open a server. */
async function overASocket() {
  // Not an import: bundlers for workerd would look for it.
  const http = isWorkerd ? undefined : globalThis.process?.getBuiltinModule?.("node:http");
  if (!http) return;
  let body = "";
  let authorization;
  const server = http.createServer((request, response) => {
    authorization = request.headers.authorization;
    request.setEncoding("utf8");
    request.on("data", (chunk) => (body += chunk));
    request.on("end", () => response.end('{"success":true}'));
  });
  await new Promise((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const analytics = new Analytics("KEY", { endpoint: `http://127.0.0.1:${server.address().port}` });
  analytics.track({ userId: "u1", event: "Over a socket" });
  const counts = await analytics.close(5_000);
  check(counts.delivered === 1, `a request delivers: ${JSON.stringify(counts)}`);
  check(authorization === `Basic ${btoa("KEY:")}`, "the write key authenticates");
  check(JSON.parse(body).batch[0].event === "Over a socket", "the body is the batch");
  server.closeAllConnections?.();
  await new Promise((resolve) => {
    server.close(resolve);
  });
}

/** Throws at the first thing that does not hold. */
export async function smoke() {
  await inMemory();
  await queued();
  await gzipped();
  await overASocket();
  return "ok";
}

// A worker may start nothing before its first request.
export const finished = isWorkerd ? undefined : smoke();
// oxlint-disable-next-line no-console
if (finished) console.log(await finished);
