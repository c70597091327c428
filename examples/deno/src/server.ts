import { receive } from "./webhooks.ts";

const port = Number(Deno.env.get("PORT") ?? 3000);

Deno.serve(
  {
    hostname: "127.0.0.1",
    port,
    onListen: () =>
      console.log(`Receiving webhooks at http://127.0.0.1:${port}/webhooks, signed with WEBHOOK_SECRET.`),
  },
  (request) => receive(request),
);
