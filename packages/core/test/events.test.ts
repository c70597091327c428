import {
  createReceiver,
  createRouter,
  defineEvents,
  type EventDefinitions,
  type TrackMessage,
  type VerifiedWebhook,
} from "@countersign/core";
import { sampleMessages, signedRequest } from "@countersign/core/testing";
import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, expectTypeOf, it, vi } from "vitest";
import { z } from "zod";
import { SECRET, webhookRequest } from "./support/requests.ts";

/** The same event, by each library: `total` must be a number, and `placed` becomes a Date. */
const byLibrary = {
  zod: defineEvents({
    "Order Completed": z.object({
      total: z.number(),
      placed: z.string().transform((text) => new Date(text)),
    }),
  }),
  valibot: defineEvents({
    "Order Completed": v.object({
      total: v.number(),
      placed: v.pipe(
        v.string(),
        v.transform((text) => new Date(text)),
      ),
    }),
  }),
  arktype: defineEvents({ "Order Completed": type({ total: "number", placed: "string.date.parse" }) }),
};
const PLACED = "2026-11-20T16:02:14.510Z";

function order(properties: object | null | undefined, event = "Order Completed"): Record<string, unknown> {
  return { ...sampleMessages.track, event, properties };
}

describe.each(Object.entries(byLibrary))("events defined with %s", (_library, events: EventDefinitions) => {
  const receiver = createReceiver({ secret: SECRET, events });

  it("give the handler the schema's output, and keep the rest of the message", async () => {
    const message = order({ total: 41.5, placed: PLACED });
    const received = await receiver.receive(webhookRequest({ message }));
    const { headers, body } = signedRequest(message, SECRET);
    expect(received).toMatchObject({
      verdict: "verified",
      webhook: {
        message: { ...message, properties: { total: 41.5, placed: new Date(PLACED) } },
        rawBody: body,
        receivedBody: body,
        signature: headers["x-signature"],
        secretIndex: 0,
        verifiedOver: "bytes",
      },
    });
  });

  it("refuse properties that do not fit, naming the event and the property", async () => {
    const received = await receiver.receive(
      webhookRequest({ message: order({ total: "a lot", placed: PLACED }) }),
    );
    expect(received).toMatchObject({
      verdict: "rejected",
      error: {
        code: "ERR_INVALID_MESSAGE",
        status: 422,
        message: expect.stringMatching(
          /^Event "Order Completed" does not match its schema: properties\.total: ./,
        ) as string,
        cause: { length: 1, 0: { message: expect.any(String) as string } },
      },
    });
  });

  it.each([
    ["no properties", undefined],
    ["null", null],
    ["empty ones", {}],
  ])("validate %s as an empty object", async (_case, properties) => {
    const received = await receiver.receive(webhookRequest({ message: order(properties) }));
    expect(received).toMatchObject({ error: { code: "ERR_INVALID_MESSAGE" } });
  });

  it("accept missing properties if the schema requires none", async () => {
    const optional = defineEvents({ "Cart Viewed": z.object({ coupon: z.string().optional() }) });
    for (const properties of [undefined, null]) {
      const request = webhookRequest({ message: order(properties, "Cart Viewed") });
      expect(await createReceiver({ secret: SECRET, events: optional }).receive(request)).toMatchObject({
        verdict: "verified",
        webhook: { message: { properties: {} } },
      });
    }
  });

  it.each([
    ["an event that is not defined", order({ total: "a lot" }, "Order Cancelled")],
    ["an event called like a method of every object", order({}, "toString")],
    ["an event called __proto__", order({}, "__proto__")],
    ["another message type", sampleMessages.identify],
  ])("leave %s as it is", async (_case, message) => {
    const received = await receiver.receive(webhookRequest({ message }));
    expect(received).toMatchObject({ verdict: "verified", webhook: { message } });
  });
});

describe("the transform of a schema", () => {
  const webhookOf = async (events: EventDefinitions, properties: object): Promise<VerifiedWebhook> => {
    const received = await createReceiver({ secret: SECRET, events }).receive(
      webhookRequest({ message: order(properties) }),
    );
    if (received.verdict !== "verified") throw new Error(received.verdict);
    return received.webhook;
  };

  it("runs once where receiver and router share the events", async () => {
    const increment = vi.fn<(count: number) => number>((count) => count + 1);
    const events = defineEvents({ "Order Completed": z.object({ count: z.number().transform(increment) }) });
    const webhook = await webhookOf(events, { count: 1 });
    const handler = vi.fn<(message: { properties: { count: number } }) => void>();
    await createRouter({ events }).on("track", "Order Completed", handler).dispatch(webhook);
    expect(handler.mock.calls[0]?.[0].properties).toEqual({ count: 2 });
    expect(increment).toHaveBeenCalledOnce();
  });

  it("runs in the router where the receiver has no events", async () => {
    const events = defineEvents({ "Order Completed": z.object({ total: z.coerce.string() }) });
    const webhook = await webhookOf(defineEvents({}), { total: 7 });
    const handler =
      vi.fn<(message: { properties: { total: string } }, webhook: { message: object }) => void>();
    const router = createRouter({ events }).on("track", "Order Completed", handler);
    await router.dispatch(webhook);
    expect(handler.mock.calls[0]?.[0].properties).toEqual({ total: "7" });
    expect(handler.mock.calls[0]?.[1].message).toBe(handler.mock.calls[0]?.[0]);
    // The webhook itself is not changed: a second router finds it as it came.
    expect(webhook.message).toMatchObject({ properties: { total: 7 } });
  });

  it("may be asynchronous", async () => {
    const known = (id: string): Promise<boolean> => Promise.resolve(id === "o-77");
    const events = defineEvents({
      "Order Completed": v.objectAsync({
        orderId: v.pipeAsync(v.string(), v.checkAsync(known, "unknown order")),
      }),
    });
    expect(await webhookOf(events, { orderId: "o-77" })).toMatchObject({
      message: { event: "Order Completed" },
    });
    const receiver = createReceiver({ secret: SECRET, events });
    expect(await receiver.receive(webhookRequest({ message: order({ orderId: "o-1" }) }))).toMatchObject({
      error: {
        message: 'Event "Order Completed" does not match its schema: properties.orderId: unknown order.',
      },
    });
  });

  it("that throws is the app's failure and not the sender's", async () => {
    const transform = (): never => {
      throw new Error("bug in the schema");
    };
    const events = defineEvents({ "Order Completed": z.object({ total: z.number().transform(transform) }) });
    await expect(webhookOf(events, { total: 1 })).rejects.toThrow("bug in the schema");
  });
});

describe("a refusal", () => {
  it("names the first five properties and counts the rest", async () => {
    const events = defineEvents({ "Order Completed": z.object({ items: z.array(z.number()) }) });
    const items = Array.from({ length: 1_000 }, () => "x");
    const received = await createReceiver({ secret: SECRET, events }).receive(
      webhookRequest({ message: order({ items }) }),
    );
    if (received.verdict !== "rejected") throw new Error(received.verdict);
    expect(received.error.message).toMatch(/properties\.items\.4: .*; and 995 more\.$/);
    expect(received.error.message.length).toBeLessThan(600);
  });
});

describe("a name in the properties of an authentic message", () => {
  const events = defineEvents({ "Order Completed": z.record(z.string(), z.number()) });
  const receiver = createReceiver({ secret: SECRET, events });

  it.each([
    ["begins no line of its own in a log", "a\n401 forged"],
    ["turns no text around", "a\u202Egpj"],
    ["does not make the response long", "a".repeat(100_000)],
  ])("%s", async (_title, name) => {
    const received = await receiver.receive(webhookRequest({ message: order({ [name]: "no number" }) }));
    const { message } = (received as { readonly error: Error }).error;
    expect(message).toMatch(/^Event "Order Completed" does not match its schema: properties\.a/);
    expect(message.length).toBeLessThan(400);
    expect(message).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
  });
});

describe("defineEvents", () => {
  it.each([
    ["nothing", undefined, "takes an object from event name to the schema"],
    ["text", "Order Completed", "takes an object"],
    [
      "a plain object as schema",
      { Bought: { total: "number" } },
      'The schema of event "Bought" is not a Standard Schema.',
    ],
    ["undefined as schema", { Bought: undefined }, 'The schema of event "Bought"'],
    [
      "a schema of an older version",
      { Bought: { "~standard": 1 } },
      "Use zod 3.24, valibot 1 or arktype 2, or later.",
    ],
  ])("throws a TypeError for %s", (_case, schemas, message) => {
    const define = (): unknown => defineEvents(schemas as unknown as Record<string, z.ZodType>);
    expect(define).toThrow(TypeError);
    expect(define).toThrow(message);
  });
});

describe("types", () => {
  it("a handler by event name has the type of its schema, in each library", () => {
    createRouter({ events: byLibrary.zod }).on(
      "track",
      "Order Completed",
      ({ event, properties, userId }) => {
        expectTypeOf(event).toEqualTypeOf<"Order Completed">();
        expectTypeOf(properties).toEqualTypeOf<{ total: number; placed: Date }>();
        expectTypeOf(userId).toEqualTypeOf<string | null | undefined>();
        // @ts-expect-error: the schema has no such property
        void properties.currency;
      },
    );
    createRouter({ events: byLibrary.valibot }).on("track", "Order Completed", ({ properties }) => {
      expectTypeOf(properties).toEqualTypeOf<{ total: number; placed: Date }>();
    });
    createRouter({ events: byLibrary.arktype }).on("track", "Order Completed", ({ properties }) => {
      expectTypeOf(properties).toEqualTypeOf<{ total: number; placed: Date }>();
    });
  });

  it("an event that is not defined does not compile", () => {
    // @ts-expect-error: a misspelt event name
    createRouter({ events: byLibrary.zod }).on("track", "Order Complete", () => {});
    createRouter().on("track", "Anything at all", (message) => {
      expectTypeOf(message).toEqualTypeOf<TrackMessage>();
    });
  });

  it("a value that is not a schema does not compile", () => {
    // @ts-expect-error: not a Standard Schema
    expect(() => defineEvents({ Bought: { total: "number" } })).toThrow(TypeError);
  });
});
