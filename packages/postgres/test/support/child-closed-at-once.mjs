// Opens and closes senders on a store, the second one at once. Prints how long the process has run on after that, in milliseconds.
import { createSender } from "@countersign/sender";
import { postgresStore } from "@countersign/postgres";

const [, , url, schema] = process.argv;
for (const _ of [1, 2]) {
  const sender = await createSender({ url: "http://127.0.0.1:9/", store: postgresStore({ url, schema }) });
  await sender.close();
}
const closedAt = performance.now();
process.on("exit", () => console.log(performance.now() - closedAt));
