import { createApp } from "./app.ts";

const port = Number(process.env["PORT"] ?? 3000);
createApp(process.env["WEBHOOK_SECRET"] ?? "dev", console.log).listen(port, "127.0.0.1", () => {
  console.log(`Receiving webhooks at http://127.0.0.1:${port}/webhooks, signed with WEBHOOK_SECRET.`);
});
