import { webhookHandler } from "@countersign/fetch";

/** The bindings of the Worker. */
export interface Env {
  readonly WEBHOOK_SECRET?: string;
}

const receive = webhookHandler(
  {
    secret(_request, env: Env) {
      // Answered 500, so that the sender sends the message again. A 401 would be final.
      if (!env.WEBHOOK_SECRET) throw new Error("WEBHOOK_SECRET is not set");
      return env.WEBHOOK_SECRET;
    },
    onRejected: ({ code, hint }) => console.warn(`refused ${code}: ${hint}`),
  },
  async ({ message }) => {
    console.log(`${message.type} of ${message.userId ?? "someone unknown"}`);
    return new Response(null, { status: 204 });
  },
);

const worker: ExportedHandler<Env> = { fetch: (request, env) => receive(request, env) };

// oxlint-disable-next-line import/no-default-export -- what a Worker is
export default worker;
