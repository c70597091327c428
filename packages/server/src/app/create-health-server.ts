import { checkOptionNames, HOST_SYNONYMS, TOKEN_SYNONYMS, type OptionNames } from "@countersign/protocol";
import type { Sender } from "@countersign/sender";
import { ATTEMPT_TIMEOUT_MS } from "@countersign/sender/explain";
import { createMetrics, type Metrics } from "../live/metrics.ts";
import { StoreRoom } from "../live/store-room.ts";
import { createBareApp } from "./bare-app.ts";
import { checked, checkReach } from "./check-server-options.ts";
import { createGuard } from "./guard.ts";
import { healthRoutes } from "./health-routes.ts";
import { listen } from "./listen.ts";
import { readiness, waitingWithoutSettings, type Readiness } from "../live/readiness.ts";
import { DEFAULT_HOST } from "./server-options.ts";

/** Options of {@link createHealthServer}. */
export interface HealthServerOptions {
  /** Port to listen on; 0 takes any that is free. */
  readonly port: number;
  /** Address to listen on. Others than this machine's own need a token. Default: `127.0.0.1`. */
  readonly host?: string | undefined;
  /** What `/metrics` asks for, as `Authorization: Bearer TOKEN`. */
  readonly token?: string | undefined;
  /** Host names that requests may use, in addition to `localhost` and IP addresses. */
  readonly allowHosts?: readonly string[] | undefined;
}

const OPTION_NAMES: OptionNames<HealthServerOptions> = {
  port: true,
  host: HOST_SYNONYMS,
  token: TOKEN_SYNONYMS,
  allowHosts: ["allowedhosts"],
};

/** What answers supervisors. */
export interface HealthServer {
  /** Where a program on this machine reaches it. */
  readonly url: string;
  /** The sender is open. Until then, nothing is ready. */
  watch(sender: Sender): void;
  close(): Promise<void>;
}

/** Supervisors are few. */
const MAX_CONNECTIONS = 100;

/**
 * Answers supervisors and Prometheus for a sender that has no server: `/healthz`, `/readyz` and `/metrics`.
 *
 * @throws ServerOptionsError when an option is unknown, or others could reach it without a token; ServerError when the port is taken
 * @example
 * ```ts
 * import { createSender } from "@countersign/sender";
 * import { createHealthServer } from "@countersign/server";
 *
 * const health = await createHealthServer({ port: 9090 });
 * const sender = await createSender({ url: "https://example.com/hooks", secret: "secret" });
 * health.watch(sender);
 * ```
 */
export async function createHealthServer(options: HealthServerOptions): Promise<HealthServer> {
  checked(() => checkOptionNames("createHealthServer()", options, OPTION_NAMES));
  const { port, host = DEFAULT_HOST, token, allowHosts } = options;
  checkReach({ host, token, allowHosts });
  let metrics: Metrics | undefined;
  let state: (() => Promise<Readiness>) | undefined;
  const app = createBareApp({ maxConnections: MAX_CONNECTIONS, onError: () => {} });
  const guard = createGuard({ token, allowHosts });
  app.addHook("onRequest", guard.check);
  healthRoutes(app, { guard, metrics: () => metrics, readiness: () => state?.() });
  const url = await listen(app, { host, port, scheme: "http" });
  return {
    url,
    watch(sender) {
      const room = new StoreRoom(sender, () => {});
      metrics = createMetrics(
        { sender, room, delivers: true, budgetMs: ATTEMPT_TIMEOUT_MS, now: Date.now },
        { withProcess: true },
      );
      const parts = { waiting: waitingWithoutSettings(sender), room, delivers: true };
      state = () => readiness(parts);
    },
    close: () => app.close(),
  };
}
