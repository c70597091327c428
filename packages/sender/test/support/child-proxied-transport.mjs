// Sends to each URL through a proxy, and prints the results.
import { createTransport } from "../../dist/transport/create-transport.js";

const { proxy, urls, ca } = JSON.parse(process.argv[2]);
const transport = createTransport({ proxy });
const results = [];
for (const url of urls) {
  results.push(await transport.send({ url, headers: {}, body: new Uint8Array(2), ca }, { timeoutMs: 5_000 }));
}
await transport.close();
process.stdout.write(JSON.stringify({ results }));
