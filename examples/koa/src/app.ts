import { aliasIdentity, createRouter, defineEvents, memoryDedupe } from "@countersign/core";
import { dispatch, verifyWebhook } from "@countersign/koa";
import { Router } from "@koa/router";
import Koa from "koa";
import * as z from "zod";

/** The events this app knows. A track message that does not fit is refused before any handler sees it. */
const events = defineEvents({
  "Invoice Paid": z.object({ invoiceId: z.string(), total: z.number() }),
});

/**
 * Webhooks routed by type and by event. A delivery that comes again, as after a time-out, is not handled again.
 *
 * @param secret - The secret shared with the sender.
 * @param log - Is given one line for each message.
 */
export function createApp(secret: string, log: (line: string) => void): Koa {
  const handlers = createRouter({ events })
    .on("track", "Invoice Paid", ({ properties }) =>
      log(`invoice ${properties.invoiceId}: ${properties.total}`),
    )
    .on("track", ({ event }) => log(`event ${event}`))
    .on("identify", ({ userId, traits }) => log(`user ${userId}: ${JSON.stringify(traits ?? {})}`))
    .on("alias", (message) => log(`user ${aliasIdentity(message).userId} has a new id`))
    .on("delete", ({ userId }) => log(`user ${userId}: to be forgotten`))
    .otherwise(({ type }) => log(`a ${type} that nothing waits for`));

  const router = new Router();
  const verify = verifyWebhook({
    secret,
    events,
    dedupe: memoryDedupe(),
    onRejected: ({ code, hint }) => log(`refused ${code}: ${hint}`),
  });
  router.post("/webhooks", verify, dispatch(handlers));
  const app = new Koa();
  app.use(router.routes()).use(router.allowedMethods());
  return app;
}
