// A receiver in a process of its own: prints its port, then a line for each time its handler runs.
import { verifyWebhook } from "@countersign/express";
import { redisDedupe } from "@countersign/redis";
import express from "express";
import { Redis } from "ioredis";

const redis = new Redis(process.env.REDIS_URL);
const app = express();
app.post(
  "/",
  verifyWebhook({ secret: "secret", dedupe: redisDedupe(redis, { timeout: "20s" }) }),
  (request, response) => {
    process.stdout.write(`handled ${request.body.messageId}\n`);
    // Long enough for the other copies to arrive while this one is being handled.
    setTimeout(() => response.sendStatus(204), 50);
  },
);
const server = app.listen(0, "127.0.0.1", () => process.stdout.write(`port ${server.address().port}\n`));
