// Which files and functions of this package run between one `track()` and the delivery that comes of it.
//   node packages/sender/test/support/child-path-of-a-delivery.mjs [--list]
// Counted with V8's precise coverage over the first delivery of a sender, the making of its connection included.
import { once } from "node:events";
import { createServer } from "node:http";
import { Session } from "node:inspector/promises";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { createSender } from "@countersign/sender";

const dist = fileURLToPath(new URL("../../dist/", import.meta.url));
const receiver = createServer((request, response) => {
  request.resume().once("end", () => response.end());
});
receiver.listen(0, "127.0.0.1");
await once(receiver, "listening");
const sender = await createSender({
  url: `http://127.0.0.1:${receiver.address().port}/`,
  secret: "secret",
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
const { result } = await session.post("Profiler.takePreciseCoverage");
session.disconnect();
await sender.close();
receiver.close();
receiver.closeAllConnections();

const files = result
  .filter(({ url }) => url.startsWith("file:") && fileURLToPath(url).startsWith(dist))
  .map(({ url, functions }) => ({
    file: relative(dist, fileURLToPath(url)),
    functions: functions
      .filter(({ functionName, ranges }) => functionName !== "" || ranges[0].startOffset > 0)
      .filter(({ ranges }) => ranges[0].count > 0)
      .map(({ functionName }) => functionName || "(arrow)"),
  }))
  .filter(({ functions }) => functions.length > 0);
if (process.argv.includes("--list")) {
  for (const { file, functions } of files) process.stdout.write(`${file}: ${functions.join(", ")}\n`);
}
const total = files.reduce((sum, { functions }) => sum + functions.length, 0);
process.stdout.write(`${JSON.stringify({ files: files.length, functions: total })}\n`);
