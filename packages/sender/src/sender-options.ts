import type { Clock } from "./clock/clock.ts";
import type { Duration } from "./clock/duration.ts";
import type { RetryPolicy } from "./delivery/retry-policy.ts";
import type { EndpointSettings, SenderSettings } from "./settings/settings.ts";
import type { DeliveryStore } from "./store/delivery-store.ts";
import type { Target } from "./target/target.ts";
import type { Transport } from "./transport/transport.ts";

/** What every sender can be told, however its settings are given. */
export interface EngineOptions {
  /** Where deliveries are kept. The sender opens and closes it. Default: `sqliteStore()`, in memory. */
  readonly store?: DeliveryStore | undefined;
  /** Where time comes from. Default: `systemClock()`. */
  readonly clock?: Clock | undefined;
  /** When to try again; see {@link RetryPolicy} for the defaults. */
  readonly retry?: Partial<RetryPolicy> | undefined;
  /** How long an endpoint may take to respond, in physical time whatever the clock. Default: `"5s"` (spec section 8). */
  readonly attemptTimeout?: Duration | undefined;
  /** Makes ids and the spread of retries repeatable: the same seed and calls give the same run. */
  readonly seed?: string | number | undefined;
  /** Refuses endpoints on private networks and on this machine too. Default: `false`. */
  readonly blockPrivateNetworks?: boolean | undefined;
  /** What carries attempts to endpoints. The sender closes it. Default: `createTransport()`. */
  readonly transport?: Transport | undefined;
}

/** One source with one endpoint: all that many need. */
export interface SingleEndpointOptions extends EngineOptions, EndpointSettings {
  /** Key of the `X-Signature` header; without one, messages are not signed. */
  readonly sharedSecret?: string | undefined;
}

/** One source that delivers straight into an application, over a loopback port of its own: for tests. */
export interface TargetOptions extends EngineOptions {
  /** An Express, Koa or Node handler, a Fastify instance, or a fetch handler. */
  readonly target: Target;
  /** Path and query to send to. Default: `/`. */
  readonly path?: string | undefined;
  /** Headers sent on every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Key of the `X-Signature` header; without one, messages are not signed. */
  readonly sharedSecret?: string | undefined;
}

/** Sources and destinations in full. */
export interface SourcesOptions extends EngineOptions, SenderSettings {}

/** What `createSender` takes: one endpoint, an application, or sources in full. */
export type SenderOptions = SingleEndpointOptions | TargetOptions | SourcesOptions;
