import { runInNewContext } from "node:vm";
import { Analytics, ValidationError, type IdentifyCall, type StandardSchema } from "@countersign/client";
import { memoryTransport } from "@countersign/client/testing";
import { defineEvents } from "@countersign/core";
import { describe, expect, it } from "vitest";
import { z } from "zod";

const USER_ID = "u1";
const events = defineEvents({
  "Order Completed": z.object({ orderId: z.string(), total: z.coerce.number() }),
  "Signed Up": z.object({ plan: z.enum(["free", "team"]).optional() }),
});
const options = { transport: memoryTransport() };

describe("at compile time", () => {
  it("track() takes the events that the receiver knows, and what their schemas take", async () => {
    const service = memoryTransport();
    const analytics = new Analytics("KEY", { events, transport: service });
    analytics.track({ userId: USER_ID, event: "Order Completed", properties: { orderId: "o1", total: 9 } });
    analytics.track({ anonymousId: "a1", event: "Signed Up", properties: { plan: "team" } });
    analytics.track({ userId: USER_ID, event: "Signed Up" });

    // @ts-expect-error The event is not defined.
    analytics.track({ userId: USER_ID, event: "Order Complete", properties: { orderId: "o1", total: 9 } });
    // @ts-expect-error A property is missing.
    analytics.track({ userId: USER_ID, event: "Order Completed", properties: { total: 9 } });
    // @ts-expect-error The properties are missing.
    analytics.track({ userId: USER_ID, event: "Order Completed" });
    // @ts-expect-error A property is of the wrong kind.
    analytics.track({ userId: USER_ID, event: "Signed Up", properties: { plan: "gold" } });
    // @ts-expect-error Properties of another event.
    analytics.track({ userId: USER_ID, event: "Signed Up", properties: { orderId: "o1", total: 9 } });
    // @ts-expect-error Nobody did it.
    expect(() => analytics.track({ event: "Signed Up" })).toThrow(ValidationError);

    await analytics.close();
    // The compiler refused five of them, but it has no say at run time.
    service.assertCount(8);
  });

  it("properties may be left out where the schema takes an empty object", async () => {
    const service = memoryTransport();
    const analytics = new Analytics("KEY", {
      events: defineEvents({
        "Logged In": z.object({ times: z.number() }).optional(),
        "Logged Out": z.object({}),
        Paused: z.strictObject({}).optional(),
        Pinged: z.record(z.string(), z.unknown()),
      }),
      validateEvents: true,
      transport: service,
    });
    analytics.track({ userId: USER_ID, event: "Logged Out" });
    analytics.track({ userId: USER_ID, event: "Logged Out", properties: null });
    analytics.track({ userId: USER_ID, event: "Paused" });
    analytics.track({ userId: USER_ID, event: "Pinged" });
    // @ts-expect-error It takes no properties.
    expect(() => analytics.track({ userId: USER_ID, event: "Paused", properties: { a: 1 } })).toThrow(
      ValidationError,
    );
    // @ts-expect-error An empty object does not match.
    expect(() => analytics.track({ userId: USER_ID, event: "Logged In" })).toThrow(ValidationError);
    await analytics.close();
    service.assertCount(4);
  });

  it("without events any event goes", () => {
    const analytics = new Analytics("KEY", options);
    interface Order {
      total: number;
    }
    const order: Order = { total: 9 };
    analytics.track({ userId: USER_ID, event: "Whatever", properties: order });
    // @ts-expect-error The event is missing.
    expect(() => analytics.track({ userId: USER_ID })).toThrow("You must pass 'event'.");
  });

  it("calls ask for an identity, and for no field they do not know", () => {
    const analytics = new Analytics("KEY", options);
    const maybe: { id: string | undefined } = { id: undefined };
    analytics.identify({ userId: maybe.id, anonymousId: "a1" });
    // @ts-expect-error It may be undefined, and there is no other.
    const nobody: IdentifyCall = { userId: maybe.id };
    expect(() => analytics.identify(nobody)).toThrow(ValidationError);
    // @ts-expect-error An alias needs both ids.
    expect(() => analytics.alias({ userId: USER_ID })).toThrow("You must pass a 'previousId'.");
    // @ts-expect-error A group needs its id.
    expect(() => analytics.group({ userId: USER_ID })).toThrow("You must pass a 'groupId'.");
    // @ts-expect-error Misspelt.
    expect(() => analytics.identify({ userId: USER_ID, trait: {} })).toThrow("no field 'trait'");
    // @ts-expect-error The recognised properties of a page are strings.
    analytics.page({ userId: USER_ID, traits: { url: 7 } });
  });
});

describe("at run time, with validateEvents", () => {
  const analytics = new Analytics<typeof events.schemas>("KEY", { ...options, events, validateEvents: true });
  const track = (call: object): unknown => analytics.track(call as never);

  it("an event that fits is recorded, as it was passed", async () => {
    const service = memoryTransport();
    const analytics = new Analytics("KEY", { events, validateEvents: true, transport: service });
    // The schema would make it a number. Its input is what the receiver's schema reads again.
    analytics.track({ userId: USER_ID, event: "Order Completed", properties: { orderId: "o1", total: "9" } });
    analytics.track({ userId: USER_ID, event: "Signed Up" });
    await analytics.close();
    service.assertSent({ event: "Order Completed", properties: { total: "9" } });
    expect(service.messages).toHaveLength(2);
  });

  it.each<[string, object, string, RegExp]>([
    [
      "an event that is not defined",
      { event: "Order" },
      "event",
      /not defined\. Known: Order Completed, Signed Up/,
    ],
    ["a misspelt event", { event: "Signed up" }, "event", /not defined; did you mean "Signed Up"\?/],
    ["a name of Object's", { event: "toString" }, "event", /not defined/],
    [
      "a property of the wrong kind",
      { event: "Signed Up", properties: { plan: 7 } },
      "properties.plan",
      /Signed Up/,
    ],
    ["missing properties", { event: "Order Completed" }, "properties.orderId", /'properties.orderId'/],
    ["no event at all", {}, "event", /You must pass 'event'/],
  ])("%s is refused", (_, call, field, message) => {
    expect(() => track({ userId: USER_ID, ...call })).toThrow(
      expect.objectContaining({ name: "ValidationError", field }),
    );
    expect(() => track({ userId: USER_ID, ...call })).toThrow(message);
    expect(analytics.counts.pending).toBe(0);
  });

  it.each<[string, () => Promise<never>]>([
    ["later", () => Promise.reject(new Error("later"))],
    [
      "with a promise of another kind",
      () => runInNewContext("Promise.reject(new Error())") as Promise<never>,
    ],
  ])("a schema that answers %s is a TypeError, and leaves nothing unhandled", (_, validate) => {
    const later: StandardSchema<object> = { "~standard": { version: 1, vendor: "test", validate } };
    const analytics = new Analytics("KEY", {
      ...options,
      events: { schemas: { E: later } },
      validateEvents: true,
    });
    expect(() => analytics.track({ userId: USER_ID, event: "E", properties: {} })).toThrow(TypeError);
  });
});
