import { receive } from "./webhooks.ts";

const port = Number(process.env["PORT"] ?? 3000);

Bun.serve({ hostname: "127.0.0.1", port, fetch: (request) => receive(request) });
console.log(`Receiving webhooks at http://127.0.0.1:${port}/webhooks, signed with WEBHOOK_SECRET.`);
