import { valueAt } from "@countersign/core";
import { webhookHandler } from "@countersign/fetch";

/** Runs for authentic, well-formed messages only; every other request is answered with a problem document. */
export const receive: (request: Request) => Promise<Response> = webhookHandler(
  {
    secret: Deno.env.get("WEBHOOK_SECRET") ?? "dev",
    onRejected: ({ code, hint }) => console.warn(`refused ${code}: ${hint}`),
  },
  async ({ message }) => {
    const library = valueAt(message.context, "library", "name");
    console.log(
      `${message.type} of ${message.userId ?? "someone unknown"}, recorded by ${JSON.stringify(library)}`,
    );
    return new Response(null, { status: 204 });
  },
);
