// A receiver that prints everything it is told: what a team that debugs prints to its logs.
import { createServer } from "node:http";
import process from "node:process";
import { inspect } from "node:util";
import { WebhookError } from "@countersign/core";
import { verifyWebhook } from "@countersign/express";
import express from "express";

const print = (...values) =>
  process.stdout.write(`${values.map((value) => inspect(value, { depth: 3 })).join(" ")}\n`);
const app = express();
app.post(
  "/webhooks",
  verifyWebhook({
    secret: [process.env.RECEIVER_SECRET, process.env.RECEIVER_SECRET_BEFORE],
    retiredSecrets: [process.env.RECEIVER_SECRET_RETIRED],
    onVerified: (webhook) => print("verified", webhook),
    onRejected: (error, { diagnoses }) => print("rejected", error, error.hint, diagnoses),
  }),
  (req, res) => {
    if (req.body.event === "Make It Fail") throw new Error("the handler fails");
    res.sendStatus(204);
  },
);
const server = createServer(app).listen(0, "127.0.0.1", () =>
  process.stdout.write(`port ${server.address().port}\n`),
);
process.on("warning", (warning) => print("warning", warning));
print(new WebhookError("ERR_SIGNATURE_MISMATCH"));
