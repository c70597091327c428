// Which files and functions of this package run between one `track()` and the delivery that comes of it: for the first
// delivery of a sender, which makes the connection, and for a later one, as almost all are.
//   node packages/sender/test/support/child-path-of-a-delivery.mjs [--list]
// Counted with V8's precise coverage.
import { once } from "node:events";
import { createServer } from "node:http";
import { Session } from "node:inspector/promises";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { createSender } from "@countersign/sender";
import { virtualClock } from "@countersign/sender/testing";

const dist = fileURLToPath(new URL("../../dist/", import.meta.url));
const receiver = createServer((request, response) => {
  request.resume().once("end", () => response.end());
});
receiver.listen(0, "127.0.0.1");
await once(receiver, "listening");
const sender = await createSender({
  url: `http://127.0.0.1:${receiver.address().port}/`,
  secret: "secret",
  // It stands still, so that outdated data is looked for with the first delivery and never with a later one.
  clock: virtualClock(),
});

async function deliver() {
  const receipt = await sender.track({ userId: "u1", event: "Order Completed", properties: { total: 12 } });
  const [delivery] = await receipt.settled();
  if (delivery.state !== "delivered") throw new Error(`the delivery is ${delivery.state}`);
}

const session = new Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
await deliver();
const first = await pathSinceLastTime();
await deliver();
const later = await pathSinceLastTime();
session.disconnect();
await sender.close();
receiver.close();
receiver.closeAllConnections();

if (process.argv.includes("--list")) {
  for (const [name, path] of Object.entries({ first, later })) {
    for (const { file, functions } of path) {
      process.stdout.write(`${name}: ${file}: ${functions.join(", ")}\n`);
    }
  }
}
process.stdout.write(`${JSON.stringify({ first: sizeOf(first), later: sizeOf(later) })}\n`);

async function pathSinceLastTime() {
  const { result } = await session.post("Profiler.takePreciseCoverage");
  return result
    .filter(({ url }) => url.startsWith("file:") && fileURLToPath(url).startsWith(dist))
    .map(({ url, functions }) => ({
      file: relative(dist, fileURLToPath(url)),
      functions: functions
        .filter(({ functionName, ranges }) => functionName !== "" || ranges[0].startOffset > 0)
        .filter(({ ranges }) => ranges[0].count > 0)
        .map(({ functionName }) => functionName || "(arrow)"),
    }))
    .filter(({ functions }) => functions.length > 0);
}

function sizeOf(path) {
  return { files: path.length, functions: path.reduce((sum, { functions }) => sum + functions.length, 0) };
}
