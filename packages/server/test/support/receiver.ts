import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { VerifiedWebhook } from "@countersign/core";
import { verifyWebhook } from "@countersign/express";
import express from "express";

/** An Express app with `verifyWebhook()`, on a port of its own. */
export interface Receiver {
  readonly url: string;
  /** What was verified, in order of arrival. */
  readonly webhooks: VerifiedWebhook["message"][];
  /** While true it answers 503 to everything. */
  down: boolean;
  /** Statuses to answer instead of 204, used up from the front. */
  readonly answers: number[];
  /** Attempts that reached it, verified or not. */
  readonly attempts: () => number;
  close(): Promise<void>;
}

export const SECRET = "a shared secret";

export async function startReceiver(key = SECRET): Promise<Receiver> {
  const webhooks: VerifiedWebhook["message"][] = [];
  const answers: number[] = [];
  let attempts = 0;
  const app = express();
  app.use((_req, res, next) => {
    attempts += 1;
    const status = receiver.down ? 503 : answers.shift();
    if (status === undefined) next();
    else res.sendStatus(status);
  });
  app.post("/webhooks", verifyWebhook({ secret: key }), (req, res) => {
    webhooks.push(req.body);
    res.sendStatus(204);
  });
  const server = createServer(app);
  await listening(server);
  const receiver: Receiver = {
    url: `http://127.0.0.1:${portOf(server)}/webhooks`,
    webhooks,
    down: false,
    answers,
    attempts: () => attempts,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return receiver;
}

async function listening(server: Server): Promise<void> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
}

export function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}
