import {
  createReceiver,
  createRouter,
  defineEvents,
  type EventDefinitions,
  type MessageType,
  type ReceivedMessage,
  type VerifiedWebhook,
  WebhookError,
} from "@countersign/core";
import { sampleMessages } from "@countersign/core/testing";
import { describe, expect, expectTypeOf, it, vi } from "vitest";
import { z } from "zod";

type Handler = (message: ReceivedMessage, webhook: VerifiedWebhook<ReceivedMessage>) => void;

function webhook<Message extends ReceivedMessage>(message: Message): VerifiedWebhook<Message> {
  const body = new Uint8Array();
  return {
    message,
    rawBody: body,
    receivedBody: body,
    signature: "",
    secretIndex: 0,
    verifiedOver: "bytes",
  };
}

const types = Object.keys(sampleMessages) as MessageType[];

describe("dispatch", () => {
  it.each([
    ["only a message", sampleMessages.track],
    ["nothing, where verifyWebhook() did not run", undefined],
  ])("is a TypeError for %s", async (_case, given) => {
    const handler = vi.fn<Handler>();
    const dispatched = createRouter()
      .otherwise(handler)
      .dispatch(given as unknown as VerifiedWebhook);
    await expect(dispatched).rejects.toThrow(/^dispatch\(\) takes a verified webhook/);
    await expect(dispatched).rejects.toThrow(TypeError);
    expect(handler).not.toHaveBeenCalled();
  });

  it.each(types)("runs the handler of %s and no other", async (type) => {
    const router = createRouter();
    const handlers = types.map((type) => [type, vi.fn<Handler>()] as const);
    for (const [type, handler] of handlers) router.on(type, handler);
    const verified = webhook<ReceivedMessage>(sampleMessages[type]);
    await router.dispatch(verified);
    for (const [other, handler] of handlers) {
      expect(handler).toHaveBeenCalledTimes(other === type ? 1 : 0);
      if (other === type) expect(handler).toHaveBeenCalledWith(sampleMessages[type], verified);
    }
  });

  it("prefers a track event's own handler, then the type's, then otherwise", async () => {
    const called: string[] = [];
    const router = createRouter()
      .otherwise(({ type }) => void called.push(`otherwise ${type}`))
      .on("track", ({ event }) => void called.push(`track ${event}`))
      .on("track", "Order Completed", ({ event }) => void called.push(`event ${event}`));
    await router.dispatch(webhook(sampleMessages.track));
    await router.dispatch(webhook({ ...sampleMessages.track, event: "Cart Viewed" }));
    await router.dispatch(webhook(sampleMessages.group));
    await router.dispatch(webhook({ type: "purchase" }));
    expect(called).toEqual([
      "event Order Completed",
      "track Cart Viewed",
      "otherwise group",
      "otherwise purchase",
    ]);
  });

  it.each(["constructor", "__proto__", "toString"])(
    "finds no handler in an event or a type called %s",
    async (name) => {
      const otherwise = vi.fn<Handler>();
      const router = createRouter({ events: defineEvents({}) as EventDefinitions }).otherwise(otherwise);
      await router.dispatch(webhook({ ...sampleMessages.track, event: name }));
      await router.dispatch(webhook({ type: name }));
      expect(otherwise).toHaveBeenCalledTimes(2);
    },
  );

  it("ignores a message without a handler", async () => {
    const handled = { status: 204, headers: {}, body: "" };
    expect(await createRouter().dispatch(webhook(sampleMessages.page))).toEqual(handled);
  });

  it("waits for the handler, and throws what it throws", async () => {
    const failing = createRouter().on("page", () => Promise.reject(new Error("database down")));
    await expect(failing.dispatch(webhook(sampleMessages.page))).rejects.toThrow("database down");
    const throwing = createRouter().on("page", () => {
      throw new Error("bug");
    });
    await expect(throwing.dispatch(webhook(sampleMessages.page))).rejects.toThrow("bug");
  });

  it("refuses properties that do not fit, before any handler", async () => {
    const handler = vi.fn<() => void>();
    const events = defineEvents({ "Order Completed": z.object({ total: z.string() }) });
    const router = createRouter({ events }).on("track", "Order Completed", handler).otherwise(handler);
    const response = await router.dispatch(webhook(sampleMessages.track));
    expect(response).toMatchObject({
      status: 422,
      headers: { "content-type": "application/problem+json; charset=utf-8" },
    });
    expect(JSON.parse(response.body)).toMatchObject({ code: "ERR_INVALID_MESSAGE" });
    expect(handler).not.toHaveBeenCalled();
  });

  it("gives the problem of a WebhookError that a handler throws", async () => {
    const router = createRouter().on("page", () => {
      throw new WebhookError("ERR_INVALID_MESSAGE", { message: "No such page." });
    });
    const { status, body } = await router.dispatch(webhook(sampleMessages.page));
    expect([status, JSON.parse(body)]).toMatchObject([422, { detail: "No such page." }]);
  });
});

describe("a router's mistakes", () => {
  const handler = (): void => {};
  const mistakes: [name: string, make: () => unknown, message: string][] = [
    [
      "a type twice",
      () => createRouter().on("page", handler).on("page", handler),
      '"page" already has a handler.',
    ],
    [
      "an event twice",
      () => createRouter().on("track", "e", handler).on("track", "e", handler),
      '"e" already has a handler.',
    ],
    [
      "otherwise twice",
      () => createRouter().otherwise(handler).otherwise(handler),
      ".otherwise() already has a handler.",
    ],
    [
      "an unknown type",
      () => createRouter().on("purchase" as "page", handler),
      'Unknown message type "purchase". Use .otherwise() for other types.',
    ],
    [
      "no handler",
      () => createRouter().on("page", undefined as unknown as () => void),
      'The handler for "page" must be a function.',
    ],
    [
      "an event without a handler",
      () => createRouter().on("track", "e" as unknown as () => void),
      'The handler for "track" must be a function.',
    ],
    [
      "no handler otherwise",
      () => createRouter().otherwise(undefined as unknown as () => void),
      "The handler of .otherwise() must be a function.",
    ],
    [
      "an event name for another type",
      () => createRouter().on("page" as "track", "e", handler),
      'Only track messages have an event name, but "e" was given for page.',
    ],
    [
      "schemas that are not defined as events",
      () => createRouter({ events: { e: z.string() } as unknown as EventDefinitions }),
      "The option events must come from defineEvents().",
    ],
    [
      "events without a name",
      () => createRouter(defineEvents({ e: z.string() }) as object),
      'createRouter(): unknown option "',
    ],
  ];

  it.each(mistakes)("%s is a TypeError when it is made", (_case, make, message) => {
    expect(make).toThrow(TypeError);
    expect(make).toThrow(message);
  });
});

describe("types", () => {
  it("narrow the message by the type a handler is for", () => {
    createRouter()
      .on("group", (message) => {
        expectTypeOf(message.groupId).toEqualTypeOf<string>();
        // @ts-expect-error: a group has no event
        void message.event;
      })
      .otherwise((message, { verifiedOver }) => {
        expectTypeOf(message.type).toEqualTypeOf<string>();
        expectTypeOf(verifiedOver).toEqualTypeOf<"bytes" | "json" | "none">();
      });
    // @ts-expect-error: there is no such type
    expect(() => createRouter().on("purchase", () => {})).toThrow(TypeError);
  });

  it("take what a receiver gives, with unknown types or without", () => {
    const router = createRouter();
    const known = createReceiver({ secret: "s" });
    const unknown = createReceiver({ secret: "s", allowUnknownTypes: true });
    type Verified<R extends { receive: (...args: never[]) => Promise<unknown> }> = Extract<
      Awaited<ReturnType<R["receive"]>>,
      { verdict: "verified" }
    >["webhook"];
    expectTypeOf<Verified<typeof known>>().toExtend<Parameters<typeof router.dispatch>[0]>();
    expectTypeOf<Verified<typeof unknown>>().toExtend<Parameters<typeof router.dispatch>[0]>();
  });
});
