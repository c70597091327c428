import {
  checkClock,
  checkFunction,
  checkOptionNames,
  checkPort,
  describeValue,
  ENDPOINT_SYNONYMS,
  EVENTS_SYNONYMS,
  HEADERS_SYNONYMS,
  isObject,
  LONGEST_TIMER_MS,
  MAX_BATCH_MESSAGES,
  MAX_CALL_BYTES,
  RETRY_SYNONYMS,
  systemClock,
  TRANSPORT_SYNONYMS,
  type Clock,
  type OptionHints,
  type OptionNames,
} from "@countersign/protocol";
import { createHeaders } from "./wire/envelope.ts";
import { createLog, createSanitize } from "./log.ts";
import { MESSAGE_OVERHEAD } from "./queue/message-block.ts";
import type { AnalyticsOptions } from "./options.ts";
import type { RetryOptions, RetryPolicy } from "./wire/retry.ts";
import { fetchTransport } from "./wire/transport.ts";

/** Options that stay absent if they are not given. */
type Optional = "size" | "onDrop" | "onReject" | "beforeSend" | "events" | "log";

/** {@link AnalyticsOptions}, checked, with every default filled in. */
export type Settings = Pick<AnalyticsOptions, Optional> & {
  readonly [Name in Exclude<keyof AnalyticsOptions, Optional>]-?: Exclude<AnalyticsOptions[Name], undefined>;
} & {
  readonly retry: RetryPolicy;
  /** Makes what an endpoint said fit for a log, without the write key. */
  readonly sanitize: (text: string) => string;
};

/** As they are before what one option says of another is known. */
type GivenSettings = Omit<Settings, "sanitize" | "flushAt"> & Pick<AnalyticsOptions, "flushAt">;

/** Checks an option and fills in its default. `what` names it in errors. `isThere` tells one that is undefined from one left out. */
type Check = (value: unknown, what: string, isThere: boolean) => unknown;
type Checks<Options> = { readonly [Name in keyof Options & string]-?: Check };

/** Memory of the largest call there is: a smaller queue could not take it even when empty. */
const LARGEST_CALL = MAX_CALL_BYTES + 1 + MESSAGE_OVERHEAD;

/** The clock of a client that is given none, and of the end of every process: nobody advances a virtual one then. */
export const machineClock: Clock = /* @__PURE__ */ systemClock({ keepAlive: false });

const boolean = choice("true or false", false, true);
const batchSize = integer(undefined, 1, MAX_BATCH_MESSAGES);

const checks: Checks<AnalyticsOptions> = {
  endpoint: endpointUrl,
  flushAt: batchSize,
  size: batchSize,
  flushAfter: milliseconds(5_000, 1),
  maxQueueSize: integer(10_000, 1),
  maxQueueBytes: integer(16_777_216, LARGEST_CALL),
  whenFull: choice("'drop-newest', 'drop-oldest' or 'wait'", "drop-newest", "drop-oldest", "wait"),
  onDrop: callable(),
  onReject: callable(),
  maxInFlight: integer(4, 1),
  requestTimeout: milliseconds(10_000, 1),
  retry: retryPolicy,
  gzip: boolean,
  headers: extraHeaders,
  disable: boolean,
  beforeSend: callable(),
  flushOnSignals: boolean,
  exitTimeout: milliseconds(5_000, 0),
  events: eventDefinitions,
  validateEvents: boolean,
  log: callable(),
  clock: injected(() => machineClock, checkClock),
  ids: callable(() => crypto.randomUUID()),
  random: callable(Math.random),
  transport: injected(fetchTransport, (what, value) => checkPort(what, value, ["send"])),
};
const retryChecks: Checks<RetryOptions> = {
  giveUpAfter: milliseconds(3_600_000, 0, Number.MAX_SAFE_INTEGER),
  // A delay of 0 would ask a service that is down without a pause.
  minDelay: milliseconds(500, 1),
  maxDelay: milliseconds(30_000, 1),
  maxRetryAfter: milliseconds(300_000, 0),
};

/** What other clients call some of them. */
const SYNONYMS: Partial<OptionNames<AnalyticsOptions>> = {
  endpoint: ENDPOINT_SYNONYMS,
  flushAt: ["batchsize maxbatchsize maxeventsinbatch"],
  flushAfter: ["flushinterval interval", "in milliseconds"],
  maxQueueSize: ["maxinternalqueuesize maxqueuelength queuesize"],
  requestTimeout: ["httprequesttimeout timeout timeoutms", "in milliseconds"],
  retry: RETRY_SYNONYMS,
  gzip: ["compress compression"],
  headers: HEADERS_SYNONYMS,
  disable: ["enable enabled disabled", "true sends nothing"],
  events: EVENTS_SYNONYMS,
  log: ["logger verbose debug"],
  transport: TRANSPORT_SYNONYMS,
};

const BY_TIME = "use retry.giveUpAfter, in milliseconds";

/** Hints for options of other clients that no single option here replaces. */
const OPTION_HINTS: OptionHints = {
  maxRetries: BY_TIME,
  retryCount: BY_TIME,
  errorHandler: "use onDrop and onReject",
  callback: "use onDrop and onReject",
  writeKey: "it is the first argument",
};

/**
 * Checks the arguments of the constructor.
 *
 * @throws TypeError naming the option, what it must be and what it was.
 */
export function createSettings(writeKey: unknown, options: AnalyticsOptions): Settings {
  if (typeof writeKey !== "string" || writeKey.trim() === "") {
    throw new TypeError("new Analytics(writeKey, options) needs the write key as a non-empty string.");
  }
  // Each check returns the type of its option.
  const settings = read("new Analytics()", options, checks, "", SYNONYMS) as GivenSettings;
  const { size, flushAt = size ?? 20, validateEvents, events, gzip } = settings;
  if (size !== undefined && size !== flushAt) {
    throw new TypeError("'size' is another name for 'flushAt'. Pass one.");
  }
  if (validateEvents && !events) throw new TypeError("'validateEvents' needs 'events'.");
  if (gzip && typeof CompressionStream === "undefined") {
    throw new TypeError("'gzip' needs a runtime with CompressionStream.");
  }
  const headers = createHeaders(writeKey, gzip, settings.headers);
  const sanitize = createSanitize(writeKey);
  return { ...settings, flushAt, headers, sanitize, log: createLog(settings.log, sanitize) };
}

function read<Options>(
  what: string,
  options: unknown,
  checks: Checks<Options>,
  prefix: string,
  synonyms = {},
): object {
  checkOptionNames(what, options, { ...checks, ...synonyms }, OPTION_HINTS);
  const given = options as Readonly<Record<string, unknown>>;
  return Object.fromEntries(
    Object.entries<Check>(checks).map(([name, check]) => [
      name,
      check(given[name], `'${prefix}${name}'`, name in given),
    ]),
  );
}

/** An undefined one is mostly a variable that is not set: the events, which are personal, would go to somebody else. */
function endpointUrl(given: unknown, what: string, isThere: boolean): string {
  const endpoint = isThere ? given : "https://api.segment.io";
  const url = typeof endpoint === "string" && URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) throw wrong(what, "an http or https URL", endpoint);
  // Not shown: it contains a password.
  if (url.username || url.password) throw new TypeError(`${what} must not have a user name or password.`);
  // With or without the version, and with a path below it as it is.
  if (!/\/v1\/+[^/]/.test(url.pathname)) {
    url.pathname = `${url.pathname.replaceAll(/^\/+(?=\/)|(\/v1)?\/*$/g, "")}/v1/batch`;
  }
  return url.href;
}

function retryPolicy(retry: unknown = {}): unknown {
  const policy = read("new Analytics({ retry })", retry, retryChecks, "retry.") as RetryPolicy;
  if (policy.maxDelay >= policy.minDelay) return policy;
  throw new TypeError(
    `'retry.maxDelay' (${policy.maxDelay}) must not be below 'retry.minDelay' (${policy.minDelay}).`,
  );
}

const OWN_HEADERS = /^(?:user-agent|authorization|content-(?:type|encoding|length)|x-retry-count)$/;

function extraHeaders(headers: unknown = {}, what: string): Record<string, string> {
  // Where it is missing with the rest of fetch, that is no fault of a header.
  const Checked = Headers;
  try {
    // Refuses what is not legal in HTTP.
    const checked = [...new Checked(headers as Record<string, string>)];
    return Object.fromEntries(checked.filter(([name]) => !OWN_HEADERS.test(name)));
  } catch {
    // Without the values, nor the cause that quotes them: they may be credentials.
    const names = Object.keys(Object(headers)).join(", ");
    throw new TypeError(`${what} (${names}) has a name or a value that is not legal in HTTP.`);
  }
}

function eventDefinitions(events: unknown, what: string): unknown {
  // From JavaScript anything may come, the schemas themselves most likely.
  const schemas: unknown = Object(events).schemas;
  if (events === undefined || (isObject(schemas) && Object.values(schemas).every(isSchema))) return events;
  throw new TypeError(`${what} must come from defineEvents() of @countersign/core.`);
}

function isSchema(schema: unknown): boolean {
  return typeof Object(Object(schema)["~standard"]).validate === "function";
}

/** They are numbers, not text such as "5s". */
function milliseconds(fallback: number, min: number, max: number = LONGEST_TIMER_MS): Check {
  return integer(fallback, min, max, " of milliseconds");
}

function integer(
  fallback: number | undefined,
  min: number,
  max: number = Number.MAX_SAFE_INTEGER,
  unit: string = "",
): Check {
  return (value = fallback, what) => {
    if (
      value === undefined ||
      (Number.isInteger(value) && (value as number) >= min && (value as number) <= max)
    ) {
      return value;
    }
    throw wrong(what, `a whole number${unit} from ${min} to ${max}`, value);
  };
}

/** One of these values, the first unless another is given. */
function choice(wanted: string, ...values: readonly unknown[]): Check {
  return (value = values[0], what) => {
    if (values.includes(value)) return value;
    throw wrong(what, wanted, value);
  };
}

function callable(fallback?: () => unknown): Check {
  return injected(() => fallback, checkFunction);
}

function injected(fallback: () => unknown, check: (what: string, value: unknown) => void): Check {
  return (value = fallback(), what) => {
    check(what, value);
    return value;
  };
}

/** What an argument must be, and what it was. */
export function wrong(what: string, wanted: string, value: unknown): TypeError {
  return new TypeError(`${what} must be ${wanted}, not ${describeValue(value)}.`);
}
