import { createHmac } from "node:crypto";
import type { ReceivedMessage } from "@countersign/core";
import { createServer } from "@countersign/server";
import { expect, it, onTestFinished } from "vitest";
import { receivers, start } from "./support/receivers.ts";

const SECRET = "a secret of both ends";

/** A track message with a property `café` as Python writes it, and what has `caf\` in its place. */
const WRITTEN =
  '{"version":1,"type":"track","messageId":"m1","userId":"u1","event":"E","properties":{"total":1,"caf\\u00e9":2},"timestamp":"2026-11-28T00:00:00.000Z"}';
/** The space has it parsed: a receiver need not parse what is compact. */
const OTHER = ` ${WRITTEN.replace("caf\\u00e9", "caf\\\\")}`;

async function post(url: string, body: string, headers: Readonly<Record<string, string>>): Promise<number> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body,
  });
  await response.arrayBuffer();
  return response.status;
}

function signed(body: string): Readonly<Record<string, string>> {
  return { "x-signature": createHmac("sha1", SECRET).update(body).digest("hex") };
}

// JSON.parse of Node 23 and later remembers the keys of a text, and may find them in the next one.
it.each(receivers)(
  "$name reads the keys of a message, whatever a forgery before it had",
  async (receiver) => {
    const received: ReceivedMessage[] = [];
    const handle = ({ message }: { readonly message: ReceivedMessage }): void => void received.push(message);
    const running = await start(receiver, { secret: SECRET, handle });
    onTestFinished(() => running.close());
    expect(await post(running.url, OTHER, { "x-signature": "0".repeat(40) })).toBe(401);
    expect(await post(running.url, WRITTEN, signed(WRITTEN))).toBe(204);
    expect(received).toMatchObject([{ properties: { total: 1, café: 2 } }]);
  },
);

it("the server forwards the keys of a call, whatever another client has sent", async () => {
  const server = await createServer({ to: "http://127.0.0.1:9/", secret: SECRET, port: 0 });
  onTestFinished(() => server.close());
  const key = { authorization: `Basic ${btoa("any:")}` };
  for (const [id, body] of [
    ["m1", OTHER],
    ["m2", WRITTEN],
  ] as const)
    expect(await post(`${server.url}/v1/track`, body.replace("m1", id), key)).toBe(200);
  const deliveries = await server.sender.deliveries();
  const bodies = deliveries.map(({ body }) => Buffer.from(body).toString());
  expect(bodies.find((body) => body.includes('"m2"'))).toContain('"properties":{"total":1,"café":2}');
});
