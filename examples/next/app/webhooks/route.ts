import { webhookHandler } from "@countersign/fetch";

/** Next loads this file while it builds, where the secret is not set: a function is asked only when a request arrives. */
function secret(): string {
  const value = process.env["WEBHOOK_SECRET"];
  // Answered 500, so that the sender sends the message again. A 401 would be final.
  if (!value) throw new Error("WEBHOOK_SECRET is not set");
  return value;
}

export const POST: (request: Request) => Promise<Response> = webhookHandler(
  { secret, onRejected: ({ code, hint }) => console.warn(`refused ${code}: ${hint}`) },
  async ({ message }) => {
    console.log(`${message.type} of ${message.userId ?? "someone unknown"}`);
    return new Response(null, { status: 204 });
  },
);
