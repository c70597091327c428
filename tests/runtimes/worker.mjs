// The fetch adapter as a Worker, with the vectors beside it.
import { webhookHandler } from "@countersign/fetch";
import { runVectors } from "./vectors.mjs";

const receive = webhookHandler(
  { secret: (_request, env) => env.WEBHOOK_SECRET },
  () => new Response(null, { status: 204 }),
);

// oxlint-disable-next-line import/no-default-export -- what a Worker is, for workerd
export default {
  fetch(request, env, context) {
    return new URL(request.url).pathname === "/vectors"
      ? Response.json(runVectors())
      : receive(request, env, context);
  },
};
