import { assertNever, createRouter, defineEvents } from "@countersign/core";
import { dispatch, verifyWebhook, type VerifyWebhookOptions } from "@countersign/koa";
import { Router } from "@koa/router";
import Koa, { type Context } from "koa";
import { expect, expectTypeOf, it } from "vitest";
import * as z from "zod";

const SECRET = "secret";

/** A controller in a file of its own, as the app's routes import it. */
function controller(ctx: Context): void {
  const { message } = ctx.state.webhook;
  if (message.type === "track") expectTypeOf(message.event).toEqualTypeOf<string>();
  // @ts-expect-error only track has an event
  void message.event;
  ctx.status = 204;
}

it("narrows ctx.state.webhook.message on its type without a cast", () => {
  const router = new Router();
  router.post("/webhooks", verifyWebhook({ secret: SECRET }), (ctx) => {
    const { message, rawBody } = ctx.state.webhook;
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
    expectTypeOf(rawBody).toExtend<Uint8Array>();
    ctx.status = 204;
  });
  router.post("/forgotten", verifyWebhook({ secret: SECRET }), (ctx) => {
    const { message } = ctx.state.webhook;
    switch (message.type) {
      case "track":
        break;
      default:
        // @ts-expect-error six types are left out
        assertNever(message);
    }
  });
  router.post(
    "/t/:tenant",
    verifyWebhook({ secret: (ctx) => (ctx.path === "/t/a" ? "x" : undefined) }),
    (ctx) => {
      expectTypeOf(ctx.params).toEqualTypeOf<Record<string, string>>();
      void ctx.state.webhook.message.type;
    },
  );
  router.post("/u", verifyWebhook({ secret: SECRET }), controller);
  // @ts-expect-error ctx.state.webhook.message would be typed wrongly: see WebhookTypes
  const unknown: VerifyWebhookOptions = { secret: SECRET, allowUnknownTypes: true };
  expect(unknown).toBeDefined();
  const events = defineEvents({ "Order Completed": z.object({ total: z.number() }) });
  const handlers = createRouter({ events }).on("track", "Order Completed", ({ event, properties }) => {
    expectTypeOf(event).toEqualTypeOf<"Order Completed">();
    expectTypeOf(properties).toEqualTypeOf<{ total: number }>();
  });
  router.post("/r", verifyWebhook({ secret: SECRET, events }), dispatch(handlers));
  // @ts-expect-error not defined
  createRouter({ events }).on("track", "Order Complete", () => {});
  expect(router.stack).toHaveLength(5);
});

it("flows through app.use", () => {
  const app = new Koa();
  app.use(verifyWebhook({ secret: SECRET })).use((ctx) => {
    if (ctx.state.webhook.message.type === "track") {
      expectTypeOf(ctx.state.webhook.message.event).toEqualTypeOf<string>();
    }
  });
  // A handler written apart from its verifyWebhook() has the same types.
  app.use((ctx) => {
    if (ctx.state.webhook.message.type === "track") {
      expectTypeOf(ctx.state.webhook.message.event).toEqualTypeOf<string>();
    }
  });
  expect(app).toBeDefined();
});
