// A sender with a file store, in a process of its own: forwarder.js URL FILE MESSAGES. Answers "measure" with how many messages a second
// it accepted, stored and delivered, and "busy" with the share of the time in which its event loop was busy at 100 calls a second.
import { performance } from "node:perf_hooks";
import { forwarding, openSender } from "../support/forwarders.ts";
import { SteadyLoad } from "../support/steady-load.ts";

const PER_SECOND = 100;
const SECONDS = 5;

const [url = "", path = "", messages = ""] = process.argv.slice(2);
const sender = await openSender({ urls: [url], path });
const { measure } = forwarding("sender", sender, Number(messages));

async function busy(): Promise<number> {
  const load = new SteadyLoad(sender, PER_SECOND);
  const before = performance.eventLoopUtilization();
  await load.run(SECONDS);
  const { utilization } = performance.eventLoopUtilization(before);
  load.close();
  return utilization;
}

process.on("disconnect", () => process.exit());
process.on(
  "message",
  (what: "measure" | "busy") =>
    void Promise.resolve(what === "busy" ? busy() : measure()).then((figure) => process.send?.(figure)),
);
process.send?.("ready");
