import { mutations, sampleMessages, signedRequest, type SignedRequest } from "@countersign/core/testing";
import { createSender, type Delivery, type Receipt } from "@countersign/sender";
import { createApp } from "example-express";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { table, type Row } from "./rows.ts";

const SECRET = "a secret shared by sender and receiver";

const lines: string[] = [];
const server = createServer(createApp(SECRET, (line) => lines.push(line)));
server.listen(0, "127.0.0.1");
await once(server, "listening");
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`;
const sender = await createSender({ url, secret: SECRET });

const USER = { userId: "u-1842" };
const CONTEXT = { device: { model: "Pixel 9", type: "android" }, os: { name: "Android", version: "16" } };
const deletions = () => sender.deleteUser(USER.userId);
const calls: readonly (() => Promise<Receipt | readonly Receipt[]>)[] = [
  () => sender.page({ ...USER, name: "Pricing", properties: { path: "/pricing", title: "Pricing" } }),
  () => sender.screen({ ...USER, name: "Home", context: CONTEXT }),
  () => sender.identify({ ...USER, traits: { email: "ada@example.com", plan: "pro" } }),
  () => sender.track({ ...USER, event: "Order Completed", properties: { orderId: "o-77", total: 41.5 } }),
  () => sender.alias({ previousId: "anonymous-3f2a", ...USER }),
  () => sender.group({ ...USER, groupId: "g-12", traits: { name: "Example Ltd", employees: 329 } }),
  deletions,
];

const rows: Row[] = [];
for (const call of calls) {
  for (const receipt of [await call()].flat()) rows.push(...(await receipt.settled()).map(forwarded));
}
const handled = [...lines];
const spoilt = [
  ["forged", "signed with another secret", mutations.forged],
  ["unsigned", "without a signature", mutations.unsigned],
  ["tampered", "changed after signing", mutations.tampered],
] as const;
for (const [name, how, spoil] of spoilt) {
  rows.push(await refused(`track, ${name}`, how, spoil(signedRequest(sampleMessages.track, SECRET))));
}

await sender.close();
server.close();
await once(server, "close");

console.log(
  `A sender forwarded seven messages to an Express app at ${url}; then came three that it must reject.\n`,
);
console.log(`${table(rows)}\n`);
const rejected = lines.slice(handled.length);
console.log(`What the app's handler saw, verified and typed:\n${indented(handled)}\n`);
console.log(`What its operator sees of the others:\n${indented(rejected)}\n`);

const wrong = rows.filter((row) => !row.asItShouldBe).length;
const good = rows.length === 10 && wrong === 0 && handled.length === 7 && rejected.length === 3;
console.log(
  good
    ? "All ten are as they should be."
    : `Of ${rows.length} rows, ${wrong} are wrong; the app handled ${handled.length} messages of 7, and rejected ${rejected.length} of 3.`,
);
process.exitCode = good ? 0 : 1;

function indented(lines: readonly string[]): string {
  return lines.map((line) => `  ${line}`).join("\n");
}

/** A row for a message that the sender forwarded: one attempt, and the receiver took it. */
function forwarded(delivery: Delivery): Row {
  const [attempt] = delivery.attempts;
  return {
    sent: delivery.type,
    how: "by the sender, signed",
    status: attempt?.status,
    answer:
      attempt?.outcome === "success" ? "accepted" : (attempt?.message ?? attempt?.response ?? "nothing"),
    asItShouldBe: delivery.state === "delivered" && delivery.attempts.length === 1 && attempt?.status === 204,
  };
}

/** A row for a request that no receiver may accept. */
async function refused(sent: string, how: string, request: SignedRequest): Promise<Row> {
  const response = await fetch(url, request);
  const { detail = "accepted" } = response.ok ? {} : ((await response.json()) as { detail?: string });
  return { sent, how, status: response.status, answer: detail, asItShouldBe: response.status === 401 };
}
