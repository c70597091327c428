import { verifyWebhook } from "@countersign/express";
import { createSender } from "@countersign/sender";
import express, { type RequestHandler } from "express";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { post } from "./support/post.ts";

const SECRET = "gehëimes Wørt 🔑";
const servers: Server[] = [];

async function serve(app: RequestListener): Promise<string> {
  const server = createServer(app).listen(0, "127.0.0.1");
  servers.push(server);
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`;
}

/** The receiver that the service documents (spec 5.1), as many apps have it. */
function documentedCheck(key: string): RequestHandler {
  return (req, res, next) => {
    const digest = createHmac("sha1", key).update(JSON.stringify(req.body)).digest("hex");
    if (req.headers["x-signature"] === digest) return next();
    res.sendStatus(401);
  };
}

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => new Promise((done) => server.close(done))));
});

describe("the documented receiver", () => {
  it("accepts every message that our sender sends", async () => {
    const types: string[] = [];
    const app = express();
    app.post("/webhooks", express.json(), documentedCheck(SECRET), (req, res) => {
      types.push((req.body as { type: string }).type);
      res.sendStatus(200);
    });
    const sender = await createSender({ url: await serve(app), secret: SECRET });
    const user = { userId: "ü-1 \u{1F600}", timestamp: new Date(0) };
    await sender.page({ ...user, properties: { title: 'Ein "Titel" \\ \u2028', "12": 1, "1": 2 } });
    await sender.screen({ ...user, name: "Heim" });
    await sender.identify({ ...user, traits: { big: 1e21, tiny: 1e-7, minus: -0, deep: [[[{}]]] } });
    await sender.track({ ...user, event: "Bought", properties: { "": null, lone: "\ud800" } });
    await sender.alias({ ...user, previousId: "a-1" });
    await sender.group({ ...user, groupId: "g" });
    await sender.deleteUser(user.userId);
    await sender.idle();
    const states = (await sender.deliveries()).map(
      ({ state, attempts }) => `${state} ${attempts[0]?.status}`,
    );
    await sender.close();
    expect(states).toEqual(Array.from({ length: 7 }, () => "delivered 200"));
    expect(types.toSorted()).toEqual(["alias", "delete", "group", "identify", "page", "screen", "track"]);
  });

  it("signs what our middleware accepts", async () => {
    const bodies: unknown[] = [];
    const app = express();
    app.post("/webhooks", verifyWebhook({ secret: SECRET }), (req, res) => {
      bodies.push(req.body, req.webhook.verifiedOver);
      res.sendStatus(204);
    });
    const message = { type: "track", userId: "u", event: "Käufe", properties: { n: 1.5, s: "\u2028" } };
    const signature = createHmac("sha1", SECRET).update(JSON.stringify(message)).digest("hex");
    const url = await serve(app);
    const send = async (body: string): Promise<number> => {
      const headers = { "content-type": "application/json", "x-signature": signature };
      return (await post(url, { headers, body })).status;
    };
    expect(await send(JSON.stringify(message))).toBe(204);
    // What a proxy that re-spaces JSON makes of it.
    expect(await send(JSON.stringify(message, null, 2))).toBe(204);
    expect(bodies).toEqual([message, "bytes", message, "json"]);
    expect(await send(JSON.stringify({ ...message, event: "Kaufe" }))).toBe(401);
  });

  it("is refused the re-spaced form where the receiver is strict", async () => {
    const app = express();
    app.post(
      "/webhooks",
      verifyWebhook({ secret: SECRET, strict: true }),
      (_, res) => void res.sendStatus(204),
    );
    const message = { type: "delete", userId: "u" };
    const signature = createHmac("sha1", SECRET).update(JSON.stringify(message)).digest("hex");
    const headers = { "content-type": "application/json", "x-signature": signature };
    const url = await serve(app);
    const spaced = await post(url, { headers, body: JSON.stringify(message, null, 1) });
    expect([spaced.status, spaced.body]).toMatchObject([401, { code: "ERR_SIGNATURE_MISMATCH" }]);
    const exact = await post(url, { headers, body: JSON.stringify(message) });
    expect(exact.status).toBe(204);
  });
});
