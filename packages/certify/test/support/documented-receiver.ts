import { createHmac } from "node:crypto";
import express, { type Express } from "express";

/** The receiver that most teams start from: a JSON body parser, and the signature of what it parsed (spec 5.1). */
export function documentedReceiver(secret: string): Express {
  const app = express();
  app.set("env", "test");
  app.use(express.json());
  app.post("/webhooks", (request, response) => {
    const digest = createHmac("sha1", secret).update(JSON.stringify(request.body)).digest("hex");
    response.sendStatus(digest === request.headers["x-signature"] ? 200 : 401);
  });
  return app;
}
