// A sender that says on standard output which calls it has accepted: one after another, then some at once.
//   node child-acknowledging-sender.mjs FILE [sent|closed]
// Each line is one write to the descriptor, so that it stands in a trace of system calls after what it vouches for. With `sent`, it
// says instead which messages it has begun to send. With `closed`, it closes in the end.
import { writeSync } from "node:fs";
import { createSender, sqliteStore } from "@countersign/sender";

const [path, what] = process.argv.slice(2);
const say = (messageId) => writeSync(1, `accepted ${messageId}\n`);
const transport = {
  send(request) {
    if (what === "sent") say(JSON.parse(Buffer.from(request.body).toString()).messageId);
    return new Promise(() => {});
  },
  close: () => Promise.resolve(),
};
const sender = await createSender({ url: "http://127.0.0.1:9/", store: sqliteStore({ path }), transport });

async function accept(messageId) {
  await sender.track({
    userId: "u1",
    event: "Order Completed",
    messageId,
    properties: { note: "x".repeat(500) },
  });
  if (what !== "sent") say(messageId);
}

for (let count = 0; count < 5; count += 1) await accept(`single-${count}`);
for (let burst = 0; burst < 3; burst += 1)
  await Promise.all(Array.from({ length: 20 }, (_, index) => accept(`burst-${burst}-${index}`)));
if (what === "closed") await sender.close({ deadline: 0 });
process.exit();
