// A sender to be killed. Accepts messages as fast as it can until it is; says which were accepted before it goes on.
import { openSync, writeSync } from "node:fs";
import { createSender, sqliteStore } from "@countersign/sender";

process.once("message", ({ url, path, acceptedLog, run, quota }) => {
  void accept(url, path, acceptedLog, run, quota);
});
process.send("ready");

async function accept(url, path, acceptedLog, run, quota) {
  const sender = await createSender({ url, store: sqliteStore({ path }) });
  // A write to a file outlives the process that made it; what is in a pipe may not.
  const log = openSync(acceptedLog, "a");
  for (let count = 0; count < quota;) {
    const burst = Array.from(
      { length: Math.min(1 + Math.floor(Math.random() * 20), quota - count) },
      (_, index) => {
        const messageId = `${run}-${count + index}`;
        return sender
          .track({ userId: "u1", event: "Bought", messageId })
          .then(() => writeSync(log, `${messageId}\n`));
      },
    );
    await Promise.all(burst);
    count += burst.length;
    process.send({ accepted: count });
  }
  await sender.idle();
  process.send("idle");
}
