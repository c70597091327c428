// The fetch adapter as a Worker, with the vectors and the client's smoke test beside it.
import { webhookHandler } from "@countersign/fetch";
import { smoke } from "../../packages/client/test/runtimes/smoke.mjs";
import { runVectors } from "./vectors.mjs";

const receive = webhookHandler(
  { secret: (_request, env) => env.WEBHOOK_SECRET },
  () => new Response(null, { status: 204 }),
);

const routes = {
  "/webhooks": receive,
  "/vectors": () => Response.json(runVectors()),
  "/smoke": async () => new Response(await smoke()),
};

// oxlint-disable-next-line import/no-default-export -- what a Worker is, for workerd
export default {
  fetch(request, env, context) {
    return routes[new URL(request.url).pathname](request, env, context);
  },
};
