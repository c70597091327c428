import { assertNever, createRouter, defineEvents, isTrack, type ReceiverOptions } from "@countersign/core";
import { dispatch, verifyWebhook, webhookHandler, type WebhookHandlerOptions } from "@countersign/fetch";
import { Hono } from "hono";
import { expect, expectTypeOf, it } from "vitest";
import * as z from "zod";

const SECRET = "secret";
const noContent = (): Response => new Response(null, { status: 204 });

const log = (webhook: unknown, request: Request): void => void [webhook, request];
const answer = (webhook: unknown, request: Request): Response => new Response(String([webhook, request]));

interface Env {
  WEBHOOK_SECRET: string;
}
interface ExecutionContext {
  waitUntil(promise: Promise<unknown>): void;
}

it("narrows the message on its type without a cast", () => {
  const handler = webhookHandler({ secret: SECRET }, ({ message }) => {
    switch (message.type) {
      case "track":
        expectTypeOf(message.event).toEqualTypeOf<string>();
        break;
      case "group":
        expectTypeOf(message.groupId).toEqualTypeOf<string>();
        // @ts-expect-error a group has no event
        void message.event;
        break;
      case "page":
      case "screen":
      case "identify":
      case "alias":
      case "delete":
        break;
      default:
        assertNever(message);
    }
    return noContent();
  });
  webhookHandler({ secret: SECRET }, ({ message }) => {
    switch (message.type) {
      case "track":
        break;
      default:
        // @ts-expect-error six types are left out
        assertNever(message);
    }
    return noContent();
  });
  webhookHandler({ secret: SECRET, allowUnknownTypes: true }, ({ message }) => {
    if (isTrack(message)) expectTypeOf(message.event).toEqualTypeOf<string>();
    // @ts-expect-error the type may be none of the seven
    if (message.type === "track") message.event satisfies string;
    return noContent();
  });
  // @ts-expect-error a handler answers
  webhookHandler({ secret: SECRET }, () => {});
  expectTypeOf(handler).toBeCallableWith(new Request("http://localhost/"));
  expect(handler).toBeTypeOf("function");
});

it("types what each platform passes as its second argument", () => {
  const worker = {
    fetch: webhookHandler(
      {
        secret: (_request, env: Env) => env.WEBHOOK_SECRET,
        onRejected: (_error, _rejected, env) => void env,
      },
      noContent,
    ),
  };
  expectTypeOf(worker.fetch).parameters.toEqualTypeOf<[request: Request, context: Env]>();

  // A platform with more arguments passes them in one.
  const handler = webhookHandler<{ env: Env; ctx: ExecutionContext }>(
    { secret: (_request, { env }) => env.WEBHOOK_SECRET },
    (webhook, _request, { ctx }) => {
      ctx.waitUntil(Promise.resolve(webhook.message.type));
      return noContent();
    },
  );
  const workerWithContext = {
    fetch: (request: Request, env: Env, ctx: ExecutionContext) => handler(request, { env, ctx }),
  };
  expectTypeOf(workerWithContext.fetch).returns.resolves.toEqualTypeOf<Response>();
  // @ts-expect-error the context is needed
  expect(() => handler(new Request("http://localhost/"))).toBeTypeOf("function");

  const POST = webhookHandler(
    { secret: SECRET },
    async (_webhook, _request, { params }: { params: Promise<{ tenant: string }> }) => {
      expectTypeOf(await params).toEqualTypeOf<{ tenant: string }>();
      return noContent();
    },
  );
  expectTypeOf(POST).returns.resolves.toEqualTypeOf<Response>();

  const declared = webhookHandler({ secret: () => SECRET, onVerified: log }, answer);
  expectTypeOf(declared).toBeCallableWith(new Request("http://localhost/"));

  const app = new Hono<{ Bindings: Env }>();
  app.post("/webhooks", (c) => worker.fetch(c.req.raw, c.env));
  expect(app.routes).toHaveLength(1);
});

it("types events, and refuses options that have no effect here", () => {
  const events = defineEvents({ "Order Completed": z.object({ total: z.number() }) });
  const router = createRouter({ events }).on("track", "Order Completed", ({ event, properties }) => {
    expectTypeOf(event).toEqualTypeOf<"Order Completed">();
    expectTypeOf(properties).toEqualTypeOf<{ total: number }>();
  });
  webhookHandler({ secret: SECRET, events }, dispatch(router));
  // @ts-expect-error not defined
  createRouter({ events }).on("track", "Order Complete", () => {});

  const shared: ReceiverOptions<Request> = { secret: SECRET };
  webhookHandler(shared, noContent);
  // @ts-expect-error it may have a store, which nothing would settle
  expect(() => verifyWebhook(new Request("http://localhost/"), shared)).toBeTypeOf("function");
  expectTypeOf(verifyWebhook).parameter(1).not.toHaveProperty("onError");
  type Undefined<Options> = { readonly [Name in keyof Options]-?: undefined };
  expectTypeOf<Undefined<WebhookHandlerOptions>>().toExtend<WebhookHandlerOptions>();
  expect(router).toBeDefined();
});
