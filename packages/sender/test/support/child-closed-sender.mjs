// Uses everything of a sender that could be left behind, closes it, and tells what is left.
import { readdirSync, readlinkSync } from "node:fs";
import { createSender, sqliteStore } from "@countersign/sender";

const [url, path] = process.argv.slice(2);

function left() {
  const files = readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return [];
    }
  });
  return {
    resources: process.getActiveResourcesInfo().filter((name) => !/Pipe|TTY|FSReq/.test(name)),
    files: files
      .filter((name) => name.includes(path) || name.startsWith("socket:"))
      .map((name) => name.replace(/^socket:.*/, "socket:")),
  };
}

// What libsql keeps for as long as the process runs is made when it is first used.
await (await createSender({ url })).close();
const before = left();
const sender = await createSender({
  sources: [
    { name: "good", destinations: [{ endpoints: [{ url: `${url}good` }] }] },
    { name: "failing", destinations: [{ endpoints: [{ url: `${url}failing` }] }] },
    { name: "silent", destinations: [{ endpoints: [{ url: `${url}silent` }] }] },
  ],
  store: sqliteStore({ path }),
});
const retrying = new Promise((resolve) => sender.once("retrying", resolve));
const receipt = await sender.track({ userId: "u1", event: "e" }, { source: "good" });
await receipt.settled();
await sender.track({ userId: "u1", event: "e" }, { source: "failing" });
await retrying;
const cut = await sender.track({ userId: "u1", event: "e" }, { source: "silent" });
const waiting = cut.settled().catch((error) => error.code);
const idle = sender.idle().catch((error) => error.code);
const during = left();
await Promise.all([sender.close({ deadline: "100ms" }), sender.close()]);
const after = left();
process.stdout.write(JSON.stringify({ before, during, after, waiting: await waiting, idle: await idle }));
