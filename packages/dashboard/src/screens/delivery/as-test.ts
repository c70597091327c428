import type { DeliveryDetail } from "../../shapes/types.ts";
import { literal } from "../../words/format.ts";

/**
 * A delivery as a test to run: it sends the same bytes to the app, signed with the test's own secret, and expects it to be delivered.
 */
export function asVitest(delivery: DeliveryDetail): string {
  const { type, event, id, body } = delivery;
  const name = event === undefined ? type : `${type} ${event}`;
  return `import { sign } from "@countersign/core";
import request from "supertest";
import { expect, it } from "vitest";
import { app } from "../src/app.js"; // your receiver, with verifyWebhook({ secret: SECRET })

const SECRET = process.env.WEBHOOK_SECRET ?? "dev";

it(${literal(`takes ${name} (delivery ${id})`)}, async () => {
  const body = ${literal(body)};
  const response = await request(app)
    .post("/webhooks")
    .set("Content-Type", "application/json")
    .set("X-Signature", sign(body, SECRET))
    .send(body);
  expect(response.status).toBeGreaterThanOrEqual(200);
  expect(response.status).toBeLessThan(300);
});
`;
}
