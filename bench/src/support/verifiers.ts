import { createHmac, createSecretKey } from "node:crypto";
import { verifyWebhook } from "@countersign/core";
import { verify as verifyWithOctokit } from "@octokit/webhooks-methods";
import { Webhook } from "standardwebhooks";
import { Stripe } from "stripe";
import type { Contender } from "../harness/contest.ts";
import { SECRET, type SignedMessage } from "./messages.ts";
import { microseconds, microsecondsAsync } from "./microseconds.ts";

/** Names of the contenders of {@link verifiers}. */
export const LIMIT = "createHmac with a ready key, digest, JSON.parse";
export const SAMPLE = "the documented sample";
export const STRIPE = "stripe constructEvent";
export const STANDARD_WEBHOOKS = "standardwebhooks verify";
export const OCTOKIT = "octokit verify, JSON.parse";

function sync(name: string, run: () => unknown): Contender {
  return { name, measure: () => microseconds(run) };
}

/** `verifyWebhook`, the least that any verifier must do, and the peers: microseconds for the same body, each signed its own way. */
export function verifiers({ body, signature }: SignedMessage): Contender[] {
  const key = createSecretKey(Buffer.from(SECRET));
  const text = body.toString();
  const stripe = new Stripe("sk_test_unused");
  const stripeHeader = stripe.webhooks.generateTestHeaderString({ payload: text, secret: SECRET });
  const standard = new Webhook(Buffer.from(SECRET).toString("base64"));
  const now = new Date();
  const standardHeaders = {
    "webhook-id": "msg_1",
    "webhook-timestamp": String(Math.floor(now.getTime() / 1_000)),
    "webhook-signature": standard.sign("msg_1", now, text),
  };
  const octokitSignature = `sha256=${createHmac("sha256", SECRET).update(text).digest("hex")}`;

  return [
    sync("verifyWebhook", () => verifyWebhook({ body, signature, secret: SECRET })),
    sync(LIMIT, () => {
      createHmac("sha1", key).update(body).digest();
      return JSON.parse(body.toString());
    }),
    sync(SAMPLE, () => {
      const message: unknown = JSON.parse(body.toString());
      const digest = createHmac("sha1", SECRET).update(JSON.stringify(message)).digest("hex");
      if (digest !== signature) throw new Error("The sample refused the message.");
      return message;
    }),
    sync(STRIPE, () => stripe.webhooks.constructEvent(body, stripeHeader, SECRET)),
    sync(STANDARD_WEBHOOKS, () => standard.verify(body, standardHeaders)),
    {
      name: OCTOKIT,
      measure: () =>
        microsecondsAsync(async () => {
          const payload = body.toString();
          if (!(await verifyWithOctokit(SECRET, payload, octokitSignature)))
            throw new Error("octokit refused it.");
          return JSON.parse(payload) as unknown;
        }),
    },
  ];
}
