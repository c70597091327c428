// Uses a server in every way that opens something, closes it, and comes to its end. Whatever is left behind keeps the
// process alive, and the test that started it fails.
import { createServer } from "@countersign/server";

const data = process.argv[2];
const options = { to: "http://127.0.0.1:9/", port: 0, data, record: `${data}/traffic.jsonl` };
const server = await createServer(options);
const events = await fetch(`${server.url}/api/events`);
const body = JSON.stringify({ writeKey: "any", userId: "u", event: "Ordered", messageId: "m" });
await fetch(`${server.url}/v1/track`, { method: "POST", body });
await new Promise((resolve) => server.sender.once("retrying", resolve));
await server.close();
await server.close();
await events.text();
process.stdout.write("closed\n");
