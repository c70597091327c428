import { assertNever, createRouter, defineEvents, type VerifiedWebhook } from "@countersign/core";
import { dispatch, verifyWebhook, type VerifyWebhookOptions } from "@countersign/fastify";
import fastify, { type FastifyRequest } from "fastify";
import type { ServerResponse } from "node:http";
import { expect, expectTypeOf, it } from "vitest";
import * as z from "zod";

const SECRET = "secret";

it("narrows request.webhook.message on its type without a cast", async () => {
  const app = fastify();
  await app.register(async (scope) => {
    await scope.register(verifyWebhook, { secret: SECRET });
    scope.post("/webhooks", async (request, reply) => {
      const { message } = request.webhook;
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
      return reply.code(204).send();
    });
    scope.post("/forgotten", async ({ webhook }) => {
      switch (webhook.message.type) {
        case "track":
          break;
        default:
          // @ts-expect-error six types are left out
          assertNever(webhook.message);
      }
    });
    // A route with its own types keeps them.
    scope.post<{ Params: { tenant: string } }>("/t/:tenant", async (request) => {
      expectTypeOf(request.params.tenant).toEqualTypeOf<string>();
      expectTypeOf(request.webhook).toEqualTypeOf<VerifiedWebhook>();
    });
  });
  await app.ready();
  expect(app.hasRoute({ method: "POST", url: "/webhooks" })).toBe(true);
  await app.close();
});

it("dispatches on HTTP/2, and on a route with a schema of its responses", async () => {
  const secure = fastify({ http2: true, https: {} });
  await secure.register(verifyWebhook, { secret: SECRET });
  secure.post("/webhooks", dispatch(createRouter()));
  const app = fastify();
  app.post<{ Reply: { 204: null } }>("/webhooks", dispatch(createRouter()));
  app.route({ method: "PUT", url: "/webhooks", handler: dispatch(createRouter()) });
  // @ts-expect-error a response of Node is not a reply
  void (() => dispatch(createRouter())({} as FastifyRequest, {} as ServerResponse));
  expect(secure.hasRoute({ method: "POST", url: "/webhooks" })).toBe(true);
  await secure.close();
});

it("types events, and options by the whole app's WebhookTypes", () => {
  const events = defineEvents({ "Order Completed": z.object({ total: z.number() }) });
  const router = createRouter({ events }).on("track", "Order Completed", ({ event, properties }) => {
    expectTypeOf(event).toEqualTypeOf<"Order Completed">();
    expectTypeOf(properties).toEqualTypeOf<{ total: number }>();
  });
  // @ts-expect-error not defined
  createRouter({ events }).on("track", "Order Complete", () => {});

  const app = fastify();
  app.register(verifyWebhook, { secret: (request) => request.headers.host, events });
  app.post("/webhooks", dispatch(router));

  // @ts-expect-error request.webhook.message would be typed wrongly: see app-types.test.ts
  const unknown: VerifyWebhookOptions = { secret: SECRET, allowUnknownTypes: true };
  // @ts-expect-error not an option
  app.register(verifyWebhook, { secret: SECRET, secrets: [] });
  expect(unknown).toBeDefined();
});
