import {
  assertNever,
  createReceiver,
  createRouter,
  isMessage,
  isTrack,
  memoryDedupe,
  parseMessage,
  verifyWebhook,
  type Context,
  type DeleteMessage,
  type GroupMessage,
  type JsonObject,
  type JsonValue,
  type MemoryDedupeOptions,
  type MessageType,
  type PageProperties,
  type Received,
  type ReceivedMessage,
  type ReceiverOptions,
  type RouterOptions,
  type UnknownMessage,
  type VerifiedWebhook,
  type WebhookErrorCode,
  type WebhookMessage,
} from "@countersign/core";
import { sampleMessages, signedRequest } from "@countersign/core/testing";
import { describe, expect, expectTypeOf, it } from "vitest";

// The rejected rows are checked by the compiler; that the accepted ones run is checked here.

describe("a switch over the type", () => {
  function describeMessage(message: WebhookMessage): string {
    switch (message.type) {
      case "page":
        return JSON.stringify(message.properties?.url);
      case "screen":
        return message.name ?? "";
      case "identify":
        return JSON.stringify(message.traits?.["plan"]);
      case "track":
        return message.event;
      case "alias":
        return message["Previous ID"] ?? "";
      case "group":
        return message.groupId;
      case "delete":
        return message.userId;
      default:
        return assertNever(message);
    }
  }

  it("compiles with all seven", () => {
    expect(Object.values(sampleMessages).map(describeMessage)).toEqual([
      '"https://example.com/pricing"',
      "Home",
      '"pro"',
      "Order Completed",
      "anonymous-3f2a",
      "g-12",
      "u-1842",
    ]);
  });

  it("does not compile with one left out", () => {
    function incomplete(message: WebhookMessage): string {
      switch (message.type) {
        case "page":
        case "screen":
        case "identify":
        case "track":
        case "alias":
        case "group":
          return message.type;
        default:
          // @ts-expect-error: "delete" is left out
          return assertNever(message);
      }
    }
    expect(() => incomplete(sampleMessages.delete)).toThrow('No case handles messages of type "delete".');
  });

  it("does not compile with an unknown type", () => {
    function mistaken(message: WebhookMessage): boolean {
      // @ts-expect-error: no such type
      return message.type === "purchase";
    }
    expect(mistaken(sampleMessages.page)).toBe(false);
  });
});

describe("a field of another type", () => {
  it("cannot be read", () => {
    const message: WebhookMessage = parseMessage(sampleMessages.track);
    // @ts-expect-error: only track has an event
    expect(message.event).toBe("Order Completed");
    if (message.type !== "track") throw new Error(message.type);
    expectTypeOf(message.event).toEqualTypeOf<string>();
    // @ts-expect-error: only group has a groupId
    expect(message.groupId).toBeUndefined();
  });

  it("is recognised by the guards", () => {
    const message: WebhookMessage | UnknownMessage = parseMessage(sampleMessages.track, {
      allowUnknownTypes: true,
    });
    if (!isTrack(message)) throw new Error(message.type);
    expectTypeOf(message.event).toEqualTypeOf<string>();
    const value: unknown = sampleMessages.group;
    if (!isMessage(value)) throw new Error("no message");
    expectTypeOf(value).toEqualTypeOf<WebhookMessage>();
  });
});

it("the fields are typed as parseMessage checks them, null counting as absent", () => {
  type Optional<T> = T | null | undefined;
  expectTypeOf<MessageType>().toEqualTypeOf<
    "page" | "screen" | "identify" | "track" | "alias" | "group" | "delete"
  >();
  expectTypeOf<WebhookMessage["userId"]>().toEqualTypeOf<Optional<string>>();
  expectTypeOf<WebhookMessage["timestamp"]>().toEqualTypeOf<Optional<string>>();
  expectTypeOf<WebhookMessage["version"]>().toEqualTypeOf<Optional<number>>();
  expectTypeOf<WebhookMessage["context"]>().toEqualTypeOf<Optional<Context>>();
  expectTypeOf<DeleteMessage["userId"]>().toEqualTypeOf<string>();
  expectTypeOf<GroupMessage["groupId"]>().toEqualTypeOf<string>();
  expectTypeOf<GroupMessage["traits"]>().toEqualTypeOf<Optional<JsonObject>>();
});

it("promise nothing about the inside of properties, traits and context, which is not checked", () => {
  expectTypeOf<Context["ip"]>().toEqualTypeOf<JsonValue | undefined>();
  expectTypeOf<Context["device"]>().toEqualTypeOf<JsonValue | undefined>();
  expectTypeOf<Context["anything else"]>().toEqualTypeOf<JsonValue | undefined>();
  expectTypeOf<PageProperties["path"]>().toEqualTypeOf<JsonValue | undefined>();
  const { properties, context } = sampleMessages.page;
  // @ts-expect-error: it may be any JSON
  expect(properties?.path satisfies string | undefined).toBe("/pricing");
  // @ts-expect-error: it may be any JSON
  expect(context?.device?.model).toBeUndefined();
});

it("allowUnknownTypes widens the message, and its absence does not", () => {
  const input = { body: "", signature: "", secret: "s" };
  const usual = () => verifyWebhook(input);
  expectTypeOf(usual).returns.toEqualTypeOf<VerifiedWebhook>();
  const widened = () => verifyWebhook({ ...input, allowUnknownTypes: true });
  expectTypeOf(widened).returns.toEqualTypeOf<VerifiedWebhook<ReceivedMessage>>();
  for (const verify of [usual, widened]) expect(verify).toThrow("missing");
  const open = createReceiver({ secret: "s", allowUnknownTypes: true });
  expectTypeOf<ReturnType<typeof open.receive>>().toEqualTypeOf<Promise<Received<ReceivedMessage>>>();
  const onVerified = (webhook: VerifiedWebhook): void => void webhook;
  // @ts-expect-error: the hook takes one of the seven, and the message may be another
  createReceiver({ secret: "s", allowUnknownTypes: true, onVerified });
  // @ts-expect-error: the option widens the message, so it must be known
  createReceiver({ secret: "s", allowUnknownTypes: Math.random() > 2 });
  const closed = createReceiver({ secret: "s" });
  expectTypeOf<ReturnType<typeof closed.receive>>().toEqualTypeOf<Promise<Received>>();
});

it("options that contradict their kinds do not compile", () => {
  // @ts-expect-error: a number is no secret
  expect(() => createReceiver({ secret: 42 })).toThrow(TypeError);
  // @ts-expect-error: sizes are numbers of bytes
  expect(() => createReceiver({ secret: "s", maxBodyBytes: "1mb" })).toThrow(TypeError);
  // @ts-expect-error: text from the environment is not a boolean
  expect(() => createReceiver({ unsigned: "false" })).toThrow(TypeError);
  // @ts-expect-error: no such code
  const code: WebhookErrorCode = "ERR_SIGNATURE";
  expect(code).toBeTypeOf("string");
});

it("every option may be undefined, as a condition leaves it, also with exactOptionalPropertyTypes", async () => {
  type Undefined<Options> = { readonly [Name in keyof Options]-?: undefined };
  expectTypeOf<Undefined<ReceiverOptions>>().toExtend<ReceiverOptions>();
  expectTypeOf<Undefined<MemoryDedupeOptions>>().toExtend<MemoryDedupeOptions>();
  expectTypeOf<Undefined<RouterOptions>>().toExtend<RouterOptions>();
  const isProduction = process.env["A_VARIABLE_THAT_IS_NOT_SET"] !== undefined;
  const times = { max: undefined, ttl: undefined, lease: undefined, now: undefined };
  const store = memoryDedupe(times);
  const dedupe = isProduction ? store : undefined;
  const receiver = createReceiver({ secret: "s", dedupe, onRejected: undefined, maxBodyBytes: undefined });
  const router = createRouter({ events: undefined, invalidEvents: undefined });
  const { method, headers, body } = signedRequest(sampleMessages.track, "s");
  const request = { method, headers, body: { from: "raw", value: body }, request: undefined } as const;
  const received = await receiver.receive(request);
  if (received.verdict !== "verified") throw new Error(received.verdict);
  expect(await router.dispatch(received.webhook)).toMatchObject({ status: 204 });
  expect(store.claim("a")).toBe("new");
});
