// The fetch adapter as a Worker, with the vectors, the client's smoke test and requests that record beside it.
import { Analytics } from "@countersign/client";
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
  // As the client's README says: a client for each request.
  "/recorded": async (_request, env) => {
    const analytics = new Analytics("KEY", { endpoint: env.ENDPOINT });
    analytics.track({ userId: "u1", event: "Recorded" });
    return Response.json(await analytics.flush());
  },
  "/smoke": async () => new Response(await smoke()),
};

// oxlint-disable-next-line import/no-default-export -- what a Worker is, for workerd
export default {
  fetch(request, env, context) {
    return routes[new URL(request.url).pathname](request, env, context);
  },
};
