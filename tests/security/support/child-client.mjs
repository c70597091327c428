// A program that records events with DEBUG=analytics, and prints every receipt, rejection and error.
import process from "node:process";
import { inspect } from "node:util";
import { Analytics } from "@countersign/client";

const { CLIENT_KEY, CLIENT_ENDPOINT, CLIENT_ECHO } = process.env;
const print = (...values) =>
  process.stdout.write(`${values.map((value) => inspect(value, { depth: 4 })).join(" ")}\n`);
const attempt = async (action) => {
  try {
    print(await action());
  } catch (error) {
    print(error);
  }
};

// One endpoint takes calls, one refuses them and repeats the headers it was sent, one does not exist.
for (const endpoint of [CLIENT_ENDPOINT, CLIENT_ECHO, "http://127.0.0.1:9/"]) {
  const analytics = new Analytics(CLIENT_KEY, {
    endpoint,
    retry: { giveUpAfter: 0 },
    onDrop: (...told) => print("dropped", ...told),
    onReject: (...told) => print("rejected", ...told),
  });
  await attempt(async () => analytics.track({ userId: "u1", event: "Client Tested" }));
  await attempt(async () => analytics.track({ event: "Nobody" }));
  await attempt(async () => analytics.track({ userId: "u1", event: "Cycle", properties: globalThis }));
  await attempt(() => analytics.flush());
  await attempt(() => analytics.close());
  print(analytics);
}
await attempt(async () => new Analytics(CLIENT_KEY, { endpoint: "nonsense" }));
await attempt(async () => new Analytics(CLIENT_KEY, { writeKey: CLIENT_KEY }));
await attempt(async () => new Analytics({ writeKey: CLIENT_KEY }));
