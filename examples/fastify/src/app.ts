import { isGroup, isIdentify, isTrack } from "@countersign/core";
import { verifyWebhook } from "@countersign/fastify";
import fastify, { type FastifyInstance } from "fastify";

/**
 * A JSON API, and a scope in which every route accepts only verified webhooks.
 *
 * @param secret - The secret shared with the sender.
 * @param log - Is given one line for each message.
 */
export function createApp(secret: string, log: (line: string) => void): FastifyInstance {
  const app = fastify();

  // An ordinary route: it keeps Fastify's own JSON parser.
  app.post("/notes", async (request) => ({ noted: request.body }));

  app.register(async (scope) => {
    await scope.register(verifyWebhook, {
      secret,
      onRejected: ({ code, hint }) => log(`refused ${code}: ${hint}`),
    });

    scope.post("/webhooks", async (request, reply) => {
      const { message, verifiedOver } = request.webhook;
      if (isTrack(message)) log(`track ${message.event}`);
      else if (isIdentify(message)) log(`identify ${JSON.stringify(message.traits ?? {})}`);
      else if (isGroup(message)) log(`group ${message.groupId}`);
      else log(`${message.type}, verified over its ${verifiedOver}`);
      return reply.code(204).send();
    });
  });
  return app;
}
