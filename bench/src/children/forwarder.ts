// A sender with a file store, in a process of its own: forwarder.js URL FILE MESSAGES. Answers each message with how many
// messages a second it accepted, stored and delivered.
import { forwarding, openSender } from "../support/forwarders.ts";

const [url = "", path = "", messages = ""] = process.argv.slice(2);
const sender = await openSender({ urls: [url], path });
const { measure } = forwarding("sender", sender, Number(messages));

process.on("disconnect", () => process.exit());
process.on("message", () => void Promise.resolve(measure()).then((rate) => process.send?.(rate)));
process.send?.("ready");
