import {
  createReceiver,
  createRouter,
  defineEvents,
  type JsonObject,
  type ReceiverOptions,
  type VerifiedWebhook,
} from "@countersign/core";
import { sampleMessages } from "@countersign/core/testing";
import { describe, expect, expectTypeOf, it, vi } from "vitest";
import { z } from "zod";
import { SECRET, webhookRequest } from "./support/requests.ts";

const events = defineEvents({
  "Order Completed": z.object({ orderId: z.string(), total: z.number().transform((total) => total * 100) }),
});
const valid = sampleMessages.track;
const invalid = { ...valid, properties: { orderId: 7, total: "41.5" } };

async function receive(message: object, options: ReceiverOptions): Promise<VerifiedWebhook> {
  const request = webhookRequest({ message: message as Record<string, unknown> });
  const received = await createReceiver({ secret: SECRET, events, ...options }).receive(request);
  if (received.verdict !== "verified") throw new Error(received.verdict);
  return received.webhook;
}

describe('invalidEvents: "report"', () => {
  it("accepts an event that does not match its schema, which a 422 would lose, and says what does not", async () => {
    await expect(receive(invalid, {})).rejects.toThrow("rejected");
    const { message, issues } = await receive(invalid, { invalidEvents: "report" });
    expect(message).toEqual(invalid);
    expect(issues?.map(({ path }) => path)).toEqual([["orderId"], ["total"]]);
  });

  it("reports no issue for an event that matches, and leaves it as received: the schema does not transform it", async () => {
    const webhook = await receive(valid, { invalidEvents: "report" });
    expect(webhook.message).toEqual(valid);
    expect(webhook).not.toHaveProperty("issues");
  });

  it("reports no issue for an event without a schema, or for another type", async () => {
    for (const message of [{ ...invalid, event: "Cart Viewed" }, sampleMessages.page]) {
      expect(await receive(message, { invalidEvents: "report" })).not.toHaveProperty("issues");
    }
  });

  it("types the properties as unvalidated JSON in a router's handler, which is given the issues", async () => {
    const seen: unknown[] = [];
    const router = createRouter({ events, invalidEvents: "report" }).on(
      "track",
      "Order Completed",
      ({ event, properties }, { issues }) => {
        expectTypeOf(event).toEqualTypeOf<"Order Completed">();
        expectTypeOf(properties).toEqualTypeOf<JsonObject | null | undefined>();
        // @ts-expect-error: nothing vouches for it
        seen.push(properties?.["orderId"] satisfies string, issues?.length);
      },
    );
    expect((await router.dispatch(await receive(invalid, { invalidEvents: "report" }))).status).toBe(204);
    expect((await router.dispatch(await receive(valid, { invalidEvents: "report" }))).status).toBe(204);
    // A receiver without it has transformed the properties; the router gives what was received.
    expect((await router.dispatch(await receive(valid, {}))).status).toBe(204);
    expect(seen).toEqual([7, 2, "o-77", undefined, "o-77", undefined]);
  });

  it("asks a schema once, for a receiver and a router with the same events", async () => {
    const validate = vi.fn<(value: unknown) => { issues: [{ message: string }] }>(() => ({
      issues: [{ message: "never" }],
    }));
    const counted = defineEvents({
      "Order Completed": { "~standard": { version: 1, vendor: "test", validate } },
    });
    const webhook = await receive(valid, { events: counted, invalidEvents: "report" });
    await createRouter({ events: counted, invalidEvents: "report" }).dispatch(webhook);
    expect(validate).toHaveBeenCalledOnce();
  });

  it("applies only to the receiver: a router without it still rejects, so that a handler gets only what its types allow", async () => {
    const handler = vi.fn<() => void>();
    const router = createRouter({ events }).on("track", "Order Completed", handler);
    const webhook = await receive(invalid, { invalidEvents: "report" });
    expect((await router.dispatch(webhook)).status).toBe(422);
    expect(handler).not.toHaveBeenCalled();
    const wrong = { events, invalidEvents: "ignore" } as object;
    expect(() => createRouter(wrong)).toThrow(TypeError);
  });
});
