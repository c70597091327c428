import { isDeepStrictEqual } from "node:util";
import type { ReceivedMessage } from "@countersign/core";
import { createSender } from "@countersign/sender";
import { expect, it, onTestFinished } from "vitest";
import { receivers, start } from "./support/receivers.ts";

const SECRET = "a secret of both ends";

/** Values that JavaScript, JSON or a framework treats in a way of its own. */
const ODD: readonly unknown[] = [
  undefined,
  null,
  -0,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  5e-324,
  1e21,
  2 ** 53 + 2,
  "\ud800",
  "\udc00x",
  "\u0000",
  "\u2028\ufeff",
  "🎉".repeat(200),
  "</script>",
  new Date(0),
  new Date(Number.NaN),
  [undefined, [], [[]]],
  new Uint8Array(3),
  Object("text"),
  { toJSON: () => ({ a: 1 }) },
  { toJSON: () => undefined },
  { "": 1, "a b": 2, "a.b": 3, "\u0000": 4, 10: 5, 9: 6 },
  JSON.parse('{"__proto__":{"a":1},"constructor":{"prototype":1},"toString":2,"hasOwnProperty":3}'),
  Object.create(null),
];

it.each(receivers)("$name gets each odd call as the sender has written it", async (receiver) => {
  const received: ReceivedMessage[] = [];
  const handle = ({ message }: { readonly message: ReceivedMessage }): void => void received.push(message);
  const running = await start(receiver, { secret: SECRET, handle });
  onTestFinished(() => running.close());
  const sender = await createSender({ url: running.url, secret: SECRET });
  onTestFinished(() => sender.close({ deadline: 0 }));
  for (const odd of ODD) {
    const user = { userId: "u \u0000\ud800", context: { odd } };
    await sender.track({ ...user, event: "e\u0000\ud800", properties: { odd, list: [odd] } });
    await sender.identify({ anonymousId: " ", traits: { odd } });
    await sender.page({ ...user, name: "\ufeff", traits: { odd: 1 }, properties: { path: "/" } });
    await sender.group({ ...user, groupId: "0", traits: { odd } });
    await sender.alias({ ...user, previousId: "__proto__" });
  }
  await sender.idle();
  const deliveries = await sender.deliveries({ limit: 1_000 });
  const answers = new Set(deliveries.map(({ attempts }) => attempts[0]?.status));
  expect([deliveries.length, received.length, [...answers]]).toEqual([ODD.length * 5, ODD.length * 5, [204]]);
  const sent = deliveries.map(
    ({ body }) => JSON.parse(Buffer.from(body).toString()) as { messageId: string },
  );
  const byId = new Map(received.map((message) => ["messageId" in message ? message.messageId : "", message]));
  const different = sent.filter((message) => !isDeepStrictEqual({ ...byId.get(message.messageId) }, message));
  expect(different).toEqual([]);
});
