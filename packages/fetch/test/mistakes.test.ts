import { sampleMessages, signedRequest } from "@countersign/core/testing";
import { verifyWebhook, webhookHandler, type WebhookHandler } from "@countersign/fetch";
import { Hono } from "hono";
import { describe, expect, it } from "vitest";

const SECRET = "secret";
const track = signedRequest(sampleMessages.track, SECRET);
const request = (): Request => new Request("http://localhost/webhooks", track);

// What the compiler refuses, and JavaScript does not.
describe("a mistake in JavaScript is a TypeError that says what to do:", () => {
  it("no handler", () => {
    expect(() => webhookHandler({ secret: SECRET }, undefined as unknown as WebhookHandler)).toThrow(
      "webhookHandler() needs a handler",
    );
  });

  it.each([undefined, null, SECRET])("options that are %s", (options) => {
    const handle = (): Response => new Response(null, { status: 204 });
    const create = (): unknown => webhookHandler(options as unknown as { secret: string }, handle);
    expect(create).toThrow(TypeError);
    expect(create).toThrow(/^A webhook receiver (needs a secret|takes an options object)/);
  });

  it.each([undefined, null, "ok"])("a handler that returns %s", async (returned) => {
    const handler = webhookHandler({ secret: SECRET }, () => returned as unknown as Response);
    await expect(handler(request())).rejects.toThrow(TypeError);
    await expect(handler(request())).rejects.toThrow("new Response(null, { status: 204 })");
  });

  it("Hono's context in the place of its request", async () => {
    const errors: string[] = [];
    const handler = webhookHandler({ secret: SECRET }, () => new Response(null, { status: 204 }));
    const app = new Hono().post("/webhooks", (c) => handler(c as unknown as Request));
    app.onError((error, c) => {
      errors.push(error.message);
      return c.body(null, 500);
    });
    expect((await app.request("/webhooks", track)).status).toBe(500);
    expect(errors).toEqual([expect.stringContaining("(c) => handler(c.req.raw)")]);
    await expect(verifyWebhook({} as Request, { secret: SECRET })).rejects.toThrow(
      "Pass a web-standard Request",
    );
  });

  it("an option that does not exist", async () => {
    const misspelt: object = { secret: SECRET, stict: true };
    expect(() => webhookHandler(misspelt, () => new Response())).toThrow('unknown option "stict"');
    await expect(verifyWebhook(request(), misspelt)).rejects.toThrow('unknown option "stict"');
  });
});
