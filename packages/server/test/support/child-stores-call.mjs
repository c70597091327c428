// Prints the properties of a call that the control API stored, one of whose keys has an escape.
import { createServer } from "@countersign/server";

const server = await createServer({ to: "http://127.0.0.1:9/", secret: "dev", port: 0 });
const call = String.raw`{"type":"track","userId":"u1","event":"Ordered","properties":{"caf\u00e9":"crème"}}`;
const answer = await fetch(`${server.url}/api/messages`, {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: call,
});
const [{ body }] = await server.sender.deliveries();
process.stdout.write(`${answer.status} ${/"properties":(\{.*?\})/.exec(Buffer.from(body).toString())?.[1]}`);
await server.close();
