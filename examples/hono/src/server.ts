import { serve } from "@hono/node-server";
import { createApp } from "./app.ts";

const settings = {
  WEBHOOK_SECRET: process.env["WEBHOOK_SECRET"] ?? "dev",
  TENANT_SECRETS: process.env["TENANT_SECRETS"],
};
const app = createApp(console.log);
serve(
  {
    fetch: (request) => app.fetch(request, settings),
    hostname: "127.0.0.1",
    port: Number(process.env["PORT"] ?? 3000),
  },
  ({ port }) => {
    console.log(`Receiving webhooks at http://127.0.0.1:${port}/webhooks, signed with WEBHOOK_SECRET.`);
  },
);
