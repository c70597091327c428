import { systemClock, type Clock } from "./clock.ts";
import { createHeaders } from "./envelope.ts";
import type { EventSchemas } from "./events.ts";
import { maxBatchMessages, maxCallBytes } from "./limits.ts";
import { createLog, createSanitize, type Log } from "./log.ts";
import type { WhenFull } from "./message-queue.ts";
import type { AnalyticsOptions } from "./options.ts";
import type { RetryOptions, RetryPolicy } from "./retry.ts";
import { fetchTransport, type Transport } from "./transport.ts";

/** {@link AnalyticsOptions}, checked, with every default filled in. */
export interface Settings {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly flushAt: number;
  readonly flushAfter: number;
  readonly maxQueueSize: number;
  readonly maxQueueBytes: number;
  readonly whenFull: WhenFull;
  readonly onDrop: AnalyticsOptions["onDrop"];
  readonly onReject: AnalyticsOptions["onReject"];
  readonly maxInFlight: number;
  readonly requestTimeout: number;
  readonly retry: RetryPolicy;
  readonly gzip: boolean;
  readonly disable: boolean;
  readonly beforeSend: AnalyticsOptions["beforeSend"];
  readonly flushOnSignals: boolean;
  readonly exitTimeout: number;
  /** Set if calls are to be held to them at run time. */
  readonly schemas: EventSchemas | undefined;
  readonly log: Log | undefined;
  readonly sanitize: (text: string) => string;
  readonly clock: Clock;
  readonly ids: () => string;
  readonly random: () => number;
  readonly transport: Transport;
}

/** Memory of the largest call there is: a smaller queue could not take it even when empty. */
const largestCall = 2 * maxCallBytes + 256;

/** The longest delay that timers can take. */
const maxDelay = 2_147_483_647;

// Held against the keys of the type, so that an option cannot be forgotten here.
const optionNames: Readonly<Record<keyof AnalyticsOptions, true>> = {
  endpoint: true,
  flushAt: true,
  size: true,
  flushAfter: true,
  maxQueueSize: true,
  maxQueueBytes: true,
  whenFull: true,
  onDrop: true,
  onReject: true,
  maxInFlight: true,
  requestTimeout: true,
  retry: true,
  gzip: true,
  headers: true,
  disable: true,
  beforeSend: true,
  flushOnSignals: true,
  exitTimeout: true,
  events: true,
  validateEvents: true,
  log: true,
  clock: true,
  ids: true,
  random: true,
  transport: true,
};
const retryNames: Readonly<Record<keyof RetryOptions, true>> = {
  giveUpAfter: true,
  minDelay: true,
  maxDelay: true,
  maxRetryAfter: true,
};

function eventSchemas(events: AnalyticsOptions["events"]): EventSchemas | undefined {
  if (events === undefined) return undefined;
  // From JavaScript anything may come, the schemas themselves most likely.
  const schemas: unknown = events.schemas;
  const areSchemas =
    typeof schemas === "object" &&
    schemas !== null &&
    Object.values(schemas).every((schema) => typeof schema?.["~standard"]?.validate === "function");
  if (!areSchemas) throw new TypeError("'events' must come from defineEvents() of @countersign/core.");
  return events.schemas;
}

/**
 * Checks the arguments of the constructor.
 *
 * @throws TypeError naming the option, what it must be and what it was.
 */
export function createSettings(writeKey: unknown, options: AnalyticsOptions): Settings {
  if (typeof writeKey !== "string" || writeKey.trim() === "") {
    throw new TypeError("The write key must be a non-empty string. It is among the source's settings.");
  }
  checkNames("option", options, optionNames);
  const gzip = boolean("gzip", options.gzip);
  if (gzip && typeof CompressionStream === "undefined") {
    throw new TypeError("'gzip' needs CompressionStream, which this runtime does not have.");
  }
  const headers = createHeaders(writeKey, gzip, extraHeaders(options.headers ?? {}));
  const sanitize = createSanitize(writeKey, headers["Authorization"] ?? "");
  const schemas = eventSchemas(options.events);
  const validate = boolean("validateEvents", options.validateEvents);
  if (validate && !schemas) throw new TypeError("'validateEvents' needs 'events'.");
  return {
    url: endpointUrl(options.endpoint ?? "https://api.segment.io"),
    headers,
    flushAt: flushCount(options),
    flushAfter: integer("flushAfter", options.flushAfter ?? 5_000, 1, maxDelay),
    maxQueueSize: integer("maxQueueSize", options.maxQueueSize ?? 10_000, 1),
    maxQueueBytes: integer("maxQueueBytes", options.maxQueueBytes ?? 16_777_216, largestCall),
    whenFull: policy(options.whenFull ?? "drop-newest"),
    onDrop: callable("onDrop", options.onDrop, undefined),
    onReject: callable("onReject", options.onReject, undefined),
    maxInFlight: integer("maxInFlight", options.maxInFlight ?? 4, 1),
    requestTimeout: integer("requestTimeout", options.requestTimeout ?? 10_000, 1, maxDelay),
    retry: retryPolicy(options.retry ?? {}),
    gzip,
    disable: boolean("disable", options.disable),
    beforeSend: callable("beforeSend", options.beforeSend, undefined),
    flushOnSignals: boolean("flushOnSignals", options.flushOnSignals),
    exitTimeout: integer("exitTimeout", options.exitTimeout ?? 5_000, 0, maxDelay),
    schemas: validate ? schemas : undefined,
    log: createLog(callable("log", options.log, undefined), sanitize),
    sanitize,
    clock: having("clock", options.clock ?? systemClock, ["now", "setTimeout", "clearTimeout"]),
    ids: callable("ids", options.ids, () => crypto.randomUUID()),
    random: callable("random", options.random, Math.random),
    transport: having("transport", options.transport ?? fetchTransport(), ["send"]),
  };
}

function flushCount({ size, flushAt = size ?? 20 }: AnalyticsOptions): number {
  if (size !== undefined && size !== flushAt) {
    throw new TypeError("'size' is another name for 'flushAt': pass one of them.");
  }
  return integer(size === undefined ? "flushAt" : "size", flushAt, 1, maxBatchMessages);
}

function endpointUrl(endpoint: unknown): string {
  const url = typeof endpoint === "string" && URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (url?.protocol !== "https:" && url?.protocol !== "http:") {
    throw new TypeError(`'endpoint' must be an http or https URL, not ${JSON.stringify(endpoint)}.`);
  }
  if (url.username || url.password) {
    throw new TypeError("'endpoint' must not have a user name or password: the write key authenticates.");
  }
  if (!/\/v1\/+[^/]/.test(url.pathname)) {
    const base = url.pathname.replace(/^\/{2,}/, "/").replace(/\/+$/, "");
    url.pathname = `${base.replace(/\/v1$/, "")}/v1/batch`;
  }
  return url.href;
}

function retryPolicy(options: RetryOptions): RetryPolicy {
  checkNames("retry option", options, retryNames);
  // A delay of 0 would ask a service that is down without a pause.
  const minDelay = integer("retry.minDelay", options.minDelay ?? 500, 1, maxDelay);
  return {
    giveUpAfter: integer("retry.giveUpAfter", options.giveUpAfter ?? 3_600_000, 0),
    minDelay,
    maxDelay: integer("retry.maxDelay", options.maxDelay ?? Math.max(minDelay, 30_000), minDelay, maxDelay),
    maxRetryAfter: integer("retry.maxRetryAfter", options.maxRetryAfter ?? 300_000, 0, maxDelay),
  };
}

const ownHeaders = new Set([
  "user-agent",
  "content-type",
  "authorization",
  "content-encoding",
  "content-length",
  "x-retry-count",
]);

function extraHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  try {
    // Refuses what is not legal in HTTP.
    const checked = Object.fromEntries(new Headers(headers));
    return Object.fromEntries(Object.entries(checked).filter(([name]) => !ownHeaders.has(name)));
  } catch (error) {
    throw new TypeError(`'headers' has a name or a value that is not legal in HTTP: ${String(error)}`, {
      cause: error,
    });
  }
}

function checkNames(what: string, given: object, known: object): void {
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(known, name)) {
      throw new TypeError(`There is no ${what} '${name}'. There are: ${Object.keys(known).join(", ")}.`);
    }
  }
}

function integer(name: string, value: unknown, min: number, max: number = Number.MAX_SAFE_INTEGER): number {
  if (Number.isInteger(value) && (value as number) >= min && (value as number) <= max) return value as number;
  throw new TypeError(`'${name}' must be a whole number from ${min} to ${max}, not ${String(value)}.`);
}

function boolean(name: string, value: unknown = false): boolean {
  if (typeof value === "boolean") return value;
  throw new TypeError(`'${name}' must be true or false, not ${String(value)}.`);
}

function callable<Value>(name: string, value: Value | undefined, fallback: Value): Value {
  if (value === undefined || typeof value === "function") return value ?? fallback;
  throw new TypeError(`'${name}' must be a function, not ${String(value)}.`);
}

function having<Value extends object>(name: string, value: Value, methods: (keyof Value & string)[]): Value {
  for (const method of methods) {
    if (typeof value[method] !== "function") throw new TypeError(`'${name}' must have a method ${method}().`);
  }
  return value;
}

function policy(value: unknown): WhenFull {
  if (value === "drop-newest" || value === "drop-oldest" || value === "wait") return value;
  throw new TypeError(`'whenFull' must be 'drop-newest', 'drop-oldest' or 'wait', not ${String(value)}.`);
}
