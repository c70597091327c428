import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Analytics, fetchTransport } from "@countersign/client";
import { aliasIdentity, createRouter, defineEvents, type WebhookMessage } from "@countersign/core";
import { dispatch, verifyWebhook } from "@countersign/express";
import { createServer } from "@countersign/server";
import express from "express";
import { expect, expectTypeOf, it, onTestFinished } from "vitest";
import { z } from "zod";

/** One definition types what is recorded, what is received, and is checked at both ends. */
const events = defineEvents({
  "Order Completed": z.object({ orderId: z.string(), total: z.number() }),
});

it("all six calls go from the client through the server to a verified receiver, typed", async () => {
  const received: WebhookMessage[] = [];
  const totals: number[] = [];
  const router = createRouter({ events })
    .on("track", "Order Completed", (message) => {
      expectTypeOf(message.properties).toEqualTypeOf<{ orderId: string; total: number }>();
      totals.push(message.properties.total);
      received.push(message);
    })
    .on("alias", (message) => {
      expectTypeOf(message.type).toEqualTypeOf<"alias">();
      expect(aliasIdentity(message)).toEqual({ previousId: "a1", userId: "u1" });
      received.push(message);
    })
    .on("group", (message) => {
      expectTypeOf(message.groupId).toEqualTypeOf<string>();
      received.push(message);
    })
    .otherwise((message) => {
      received.push(message as WebhookMessage);
    });
  const secret = "shared";
  const app = express();
  app.post("/webhooks", verifyWebhook({ secret, events }), dispatch(router));
  const receiver = createHttpServer(app).listen(0, "127.0.0.1");
  onTestFinished(() => void receiver.close());
  await once(receiver, "listening");
  const to = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/webhooks`;
  const server = await createServer({ to, secret, port: 0 });
  onTestFinished(() => server.close());

  const analytics = new Analytics("any", { endpoint: server.url, events, validateEvents: true, gzip: true });
  const receipts = [
    analytics.identify({ userId: "u1", traits: { email: "ada@example.com" } }),
    analytics.track({ userId: "u1", event: "Order Completed", properties: { orderId: "o1", total: 41.5 } }),
    analytics.page({ anonymousId: "a1", name: "Pricing", traits: { path: "/pricing" } }),
    analytics.screen({ userId: "u1", name: "Cart" }),
    analytics.group({ userId: "u1", groupId: "g1", traits: { plan: "team" } }),
    analytics.alias({ userId: "u1", previousId: "a1" }),
  ];
  const wrong = { event: "Order Completed", properties: { orderId: "o1", total: "1" } } as const;
  // @ts-expect-error: the schema says that total is a number.
  expect(() => analytics.track({ userId: "u1", ...wrong })).toThrow("total");

  expect(await analytics.close()).toMatchObject({ delivered: 6, failed: 0, dropped: 0, pending: 0 });
  await server.sender.idle();
  expect(totals).toEqual([41.5]);
  const ids = received.map((message) => ("messageId" in message ? message.messageId : undefined));
  expect(ids.toSorted()).toEqual(receipts.map(({ messageId }) => messageId).toSorted());
  const byType = Object.fromEntries(received.map((message) => [message.type, message]));
  expect(byType).toMatchObject({
    identify: { userId: "u1", traits: { email: "ada@example.com" } },
    track: { userId: "u1", properties: { orderId: "o1", total: 41.5 } },
    page: { anonymousId: "a1", name: "Pricing", properties: { path: "/pricing" } },
    screen: { userId: "u1", name: "Cart" },
    group: { userId: "u1", groupId: "g1", traits: { plan: "team" } },
    alias: { "User ID": "u1", "Previous ID": "a1" },
  });
});

it("a client whose batch has a bad message is told, and loses none of the good ones, in strict mode", async () => {
  const server = await createServer({ to: "http://127.0.0.1:9/", port: 0 });
  onTestFinished(() => server.close());
  const wire = fetchTransport();
  const analytics = new Analytics("any", {
    endpoint: server.url,
    headers: { "X-Strict-Mode": "1" },
    // What the client accepts, the server accepts. So something on the way damages one message.
    transport: {
      send(request) {
        const body = new TextDecoder().decode(request.body).replace('"event":"Bad"', '"event":""');
        return wire.send({ ...request, body: new TextEncoder().encode(body) });
      },
    },
  });
  const good = analytics.track({ userId: "u1", event: "Good" });
  const bad = analytics.track({ userId: "u1", event: "Bad" });
  await analytics.close();
  expect([(await good).status, (await bad).status]).toEqual(["delivered", "rejected"]);
  const deliveries = await server.sender.deliveries();
  expect(deliveries.map(({ event }) => event)).toEqual(["Good"]);
});
