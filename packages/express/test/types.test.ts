import { verifyWebhook, dispatch } from "@countersign/express";
import { createRouter, defineEvents, isTrack, assertNever } from "@countersign/core";
import express, { type Request } from "express";
import { expect, expectTypeOf, it } from "vitest";
import * as z from "zod";

const secret = "secret";

it("narrows req.body on its type without a cast", () => {
  const app = express();
  app.post("/webhooks", verifyWebhook({ secret }), (req, res) => {
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
  app.post("/forgotten", verifyWebhook({ secret }), (req) => {
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
      expectTypeOf(req.params).toEqualTypeOf<Request["params"]>();
      void req.body.type;
      res.json({ ok: true });
    },
  );
  app.post("/u", verifyWebhook({ secret, allowUnknownTypes: true }), (req) => {
    if (isTrack(req.body)) expectTypeOf(req.body.event).toEqualTypeOf<string>();
  });
  const events = defineEvents({ "Order Completed": z.object({ total: z.number() }) });
  const router = createRouter({ events }).on("track", "Order Completed", ({ event, properties }) => {
    expectTypeOf(event).toEqualTypeOf<"Order Completed">();
    expectTypeOf(properties).toEqualTypeOf<{ total: number }>();
  });
  app.post("/r", verifyWebhook({ secret, events }), dispatch(router));
  // @ts-expect-error not defined
  expect(() => createRouter({ events }).on("track", "Order Complete", () => {})).not.toThrow();
  expect(app).toBeDefined();
});
