import { assertNever, createRouter, defineEvents, type WebhookMessage } from "@countersign/core";
import { dispatch, verifyWebhook, type VerifyWebhookOptions } from "@countersign/express";
import express, { type Request, type Response } from "express";
import { expect, expectTypeOf, it } from "vitest";
import * as z from "zod";

const SECRET = "secret";

/** A controller in a file of its own, as the app's routes import it. */
function controller(req: Request<{ tenant: string }>, res: Response): void {
  const { message } = req.webhook;
  if (message.type === "track") expectTypeOf(message.event).toEqualTypeOf<string>();
  // @ts-expect-error only track has an event
  void message.event;
  res.sendStatus(204);
}

it("narrows req.webhook.message in a separate controller without a cast", () => {
  const app = express();
  app.post("/x/:tenant", verifyWebhook({ secret: SECRET }), controller);
  expect(app).toBeDefined();
});

it("narrows req.body on its type without a cast", () => {
  const app = express();
  app.post("/webhooks", verifyWebhook({ secret: SECRET }), (req, res) => {
    switch (req.body.type) {
      case "track":
        expectTypeOf(req.body.event).toEqualTypeOf<string>();
        break;
      case "group":
        expectTypeOf(req.body.groupId).toEqualTypeOf<string>();
        // @ts-expect-error a group has no event
        void req.body.event;
        break;
      case "page":
      case "screen":
      case "identify":
      case "alias":
      case "delete":
        break;
      default:
        assertNever(req.body);
    }
    void req.webhook.rawBody.length;
    res.sendStatus(204);
  });
  app.post("/forgotten", verifyWebhook({ secret: SECRET }), (req) => {
    switch (req.body.type) {
      case "track":
        break;
      default:
        // @ts-expect-error six types are left out
        assertNever(req.body);
    }
  });
  app.post(
    "/t/:tenant",
    verifyWebhook({ secret: (req) => (req.params["tenant"] === "a" ? "x" : undefined) }),
    (req, res) => {
      expectTypeOf(req.params.tenant).toEqualTypeOf<string>();
      expectTypeOf(req.body).toEqualTypeOf<WebhookMessage>();
      // @ts-expect-error the route has no such parameter
      void req.params.user;
      res.json({ ok: true });
    },
  );
  express
    .Router()
    .route("/y/:id")
    .post(verifyWebhook({ secret: SECRET }), (req) => {
      expectTypeOf(req.params.id).toEqualTypeOf<string>();
      if (req.body.type === "track") expectTypeOf(req.body.event).toEqualTypeOf<string>();
    });
  // @ts-expect-error req.webhook.message would be typed wrongly: see WebhookTypes
  const unknown: VerifyWebhookOptions = { secret: SECRET, allowUnknownTypes: true };
  expect(unknown).toBeDefined();
  const events = defineEvents({ "Order Completed": z.object({ total: z.number() }) });
  const router = createRouter({ events }).on("track", "Order Completed", ({ event, properties }) => {
    expectTypeOf(event).toEqualTypeOf<"Order Completed">();
    expectTypeOf(properties).toEqualTypeOf<{ total: number }>();
  });
  app.post("/r", verifyWebhook({ secret: SECRET, events }), dispatch(router));
  // @ts-expect-error not defined
  expect(() => createRouter({ events }).on("track", "Order Complete", () => {})).not.toThrow();
  expect(app).toBeDefined();
});
