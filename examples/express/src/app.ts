import { aliasIdentity, assertNever, valueAt, type JsonValue, type WebhookMessage } from "@countersign/core";
import { verifyWebhook } from "@countersign/express";
import express, { type Express } from "express";

/**
 * The example receiver: one verified route.
 *
 * @param secret - The secret shared with the sender.
 * @param log - Is given one line for each message, and for each request that is refused.
 */
export function createApp(secret: string, log: (line: string) => void): Express {
  const app = express();
  // The hint is for the operator of the app. It is never sent.
  const verify = verifyWebhook({ secret, onRejected: ({ code, hint }) => log(`rejected  ${code}: ${hint}`) });
  app.post("/webhooks", verify, (req, res) => {
    log(describe(req.body));
    res.sendStatus(204);
  });
  return app;
}

/** Inside properties, traits and context nothing is checked: a value may be any JSON. */
function textOf(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** Each case sees the fields of its own type; leaving one out does not compile. */
function describe(message: WebhookMessage): string {
  switch (message.type) {
    case "page":
      return `page      ${textOf(message.properties?.path) ?? message.name ?? "?"}`;
    case "screen":
      return `screen    ${message.name ?? "?"} on ${textOf(valueAt(message.context, "device", "model")) ?? "a device"}`;
    case "identify":
      return `identify  ${message.userId ?? message.anonymousId} is ${JSON.stringify(message.traits ?? {})}`;
    case "track":
      return `track     ${message.event} ${JSON.stringify(message.properties ?? {})}`;
    case "alias": {
      const { previousId, userId } = aliasIdentity(message);
      return `alias     ${previousId} is ${userId}`;
    }
    case "group":
      return `group     ${message.userId ?? message.anonymousId} belongs to ${message.groupId}`;
    case "delete":
      return `delete    ${message.userId}`;
    default:
      return assertNever(message);
  }
}
