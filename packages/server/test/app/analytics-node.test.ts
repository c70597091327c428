import { Analytics } from "@segment/analytics-node";
import { createServer } from "@countersign/server";
import { expect, it } from "vitest";
import { SECRET, startReceiver } from "../support/receiver.ts";
import { closing } from "../../../../tests/support/resources.ts";

it("forwards every call of @segment/analytics-node to a verified Express receiver, one for one", async () => {
  const receiver = closing(await startReceiver());
  const server = closing(await createServer({ to: receiver.url, secret: SECRET, port: 0 }));
  const analytics = new Analytics({ writeKey: "WK123", host: server.url, flushAt: 4 });
  const errors: unknown[] = [];
  analytics.on("error", (error) => errors.push(error));

  analytics.identify({
    userId: "u1",
    traits: { email: "ada@example.com" },
    timestamp: "2024-01-02T03:04:05.678Z",
  });
  analytics.track({ anonymousId: "an1", event: "Bought", properties: { price: 1 } });
  analytics.page({ userId: "u1", name: "Go", category: "Docs", properties: { url: "https://example.com/" } });
  analytics.screen({ anonymousId: "an1", name: "Home" });
  analytics.group({ userId: "u1", groupId: "g1", traits: { name: "Initech" } });
  analytics.alias({ userId: "u2", previousId: "u1" });
  for (let n = 0; n < 94; n += 1) analytics.track({ userId: "u1", event: "Counted", properties: { n } });
  await analytics.closeAndFlush({ timeout: 10_000 });
  await server.sender.idle();

  expect(errors).toEqual([]);
  const received = receiver.webhooks;
  expect(received).toHaveLength(100);
  const ofType = (type: string): unknown[] => received.filter((message) => message.type === type);
  expect(ofType("identify")).toMatchObject([{ userId: "u1", traits: { email: "ada@example.com" } }]);
  expect(ofType("page")).toMatchObject([{ userId: "u1", properties: { url: "https://example.com/" } }]);
  expect(ofType("screen")).toMatchObject([{ anonymousId: "an1", name: "Home" }]);
  expect(ofType("group")).toMatchObject([{ userId: "u1", groupId: "g1", traits: { name: "Initech" } }]);
  expect(ofType("alias")).toMatchObject([{ "User ID": "u2", "Previous ID": "u1" }]);
  expect(ofType("track")).toContainEqual(expect.objectContaining({ anonymousId: "an1", event: "Bought" }));
  const counted = received.flatMap((message) =>
    message.type === "track" && message.event === "Counted" ? [message.properties?.["n"]] : [],
  );
  expect(counted.toSorted((a, b) => Number(a) - Number(b))).toEqual(Array.from({ length: 94 }, (_, n) => n));
  const [identified] = ofType("identify") as { timestamp: string }[];
  // Corrected by the difference between the client's clock and ours, which is that of one machine, and by what the request took.
  expect(
    Math.abs(Date.parse(identified?.timestamp ?? "") - Date.parse("2024-01-02T03:04:05.678Z")),
  ).toBeLessThan(60_000);
});
