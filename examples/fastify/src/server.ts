import { createApp } from "./app.ts";

const app = createApp(process.env["WEBHOOK_SECRET"] ?? "dev", console.log);
const address = await app.listen({ host: "127.0.0.1", port: Number(process.env["PORT"] ?? 3000) });
console.log(`Receiving webhooks at ${address}/webhooks, signed with WEBHOOK_SECRET.`);
