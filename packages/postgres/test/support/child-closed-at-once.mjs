// Opens and closes senders on a store at once. Prints how long the process has run on after that, in milliseconds.
import { createSender } from "@countersign/sender";
import { postgresStore } from "@countersign/postgres";

const [, , url, schema] = process.argv;

async function openAndClose() {
  const sender = await createSender({ url: "http://127.0.0.1:9/", store: postgresStore({ url, schema }) });
  await sender.close();
}

await openAndClose();
// The tables are there now, so that the store is open sooner.
await openAndClose();
const closedAt = performance.now();
process.on("exit", () => process.stdout.write(`${performance.now() - closedAt}\n`));
