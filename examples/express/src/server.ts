import { createApp } from "./app.ts";

const secret = process.env["WEBHOOK_SECRET"] ?? "dev";
const port = Number(process.env["PORT"] ?? 3000);

createApp(secret, console.log).listen(port, "127.0.0.1", (error) => {
  // Express 5 passes what kept it from listening, such as a port that is taken.
  if (error) throw error;
  console.log(`Receiving webhooks at http://127.0.0.1:${port}/webhooks, signed with WEBHOOK_SECRET.`);
});
