import type { FastifyInstance } from "fastify";
import { Problem } from "../api/problem.ts";
import type { Metrics } from "../live/metrics.ts";
import type { Guard } from "./guard.ts";
import { isReady, type Readiness } from "../live/readiness.ts";

/** What the routes for supervisors tell. Undefined while the store is being opened. */
export interface Health {
  readonly guard: Guard;
  readonly metrics: () => Metrics | undefined;
  readonly readiness: () => Promise<Readiness> | undefined;
}

/** `/healthz` and `/readyz` for supervisors, and `/metrics` for Prometheus. */
export function healthRoutes(scope: FastifyInstance, { guard, metrics, readiness }: Health): void {
  scope.get("/metrics", HEAD_TOO, async (_request, reply) => {
    const known = metrics();
    if (known === undefined) throw new Problem(503, "The store is being opened. Ask again.");
    return reply.type(known.contentType).send(await known.render());
  });
  scope.get("/healthz", HEAD_TOO, async () => ({ status: "ok" }));
  scope.get("/readyz", HEAD_TOO, async (request, reply) => {
    const { status, ...details } = (await readiness()) ?? OPENING;
    // Names of destinations, and what the store says of its files, are not for everyone on the network.
    return reply.code(isReady(status) ? 200 : 503).send({ status, ...(guard.isTrusted(request) && details) });
  });
}

/** Monitors ask with HEAD, many by default. */
const HEAD_TOO = { exposeHeadRoute: true };

const OPENING = { status: "down", problems: ["The store is being opened."] } as const;
