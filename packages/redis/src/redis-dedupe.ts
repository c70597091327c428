import type { Claim, DedupeStore } from "@countersign/core";
import { sharedDedupe } from "@countersign/core/shared-dedupe";
import {
  checkOptionNames,
  messageOf,
  parseDuration,
  LEASE_SYNONYMS,
  TIMEOUT_SYNONYMS,
  TTL_SYNONYMS,
  type Duration,
  type OptionNames,
} from "@countersign/protocol";
import { scriptRunner, type RedisClient } from "./redis-client.ts";

/** Options of {@link redisDedupe}. */
export interface RedisDedupeOptions {
  /** How long a handled delivery is remembered. Default: `"5h"`; the sender repeats a delivery for 4 hours (spec 7). */
  readonly ttl?: Duration | undefined;
  /**
   * How long a receiver's claim on a delivery lasts. If that receiver dies, a repeat is handled after this
   * time. It must be longer than your handler takes. Default: `"1m"`.
   */
  readonly lease?: Duration | undefined;
  /**
   * The prefix of all keys. Give each endpoint its own prefix: endpoints that get the same messages must not share
   * keys. Default: `"countersign:"`.
   */
  readonly prefix?: string | undefined;
  /**
   * How long Redis may take to answer. Afterwards the request fails with 500 and the sender repeats it. Default: `"2s"`;
   * the sender waits 5 seconds for your answer (spec 4.1).
   */
  readonly timeout?: Duration | undefined;
}

const OPTION_NAMES: OptionNames<RedisDedupeOptions> = {
  ttl: TTL_SYNONYMS,
  lease: LEASE_SYNONYMS,
  prefix: ["keyprefix namespace"],
  timeout: TIMEOUT_SYNONYMS,
};

/** The value of a key whose delivery was handled. The key of a claim has a token instead. */
const DONE = "done";

/**
 * Takes a key unless it is taken, in one step. A client that sends a claim again, after a lost answer, gets the same answer.
 */
const CLAIM = `
local held = redis.call("GET", KEYS[1])
if not held or held == ARGV[1] then
  redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2])
  return "new"
end
if held == "${DONE}" then return "done" end
return "in-flight"`;

const COMMIT = `return redis.call("SET", KEYS[1], "${DONE}", "PX", ARGV[1])`;

/** Releases a key, unless the claim expired and another receiver has taken it since. */
const RELEASE = `
if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end
return 0`;

/**
 * A {@link DedupeStore} in Redis: receivers on many machines share their handled deliveries, so that a repeat
 * runs the handler once, whichever machine gets it. Each step is one round trip.
 *
 * @param client - A connected client of ioredis (`new Redis()`, `new Cluster()`) or node-redis (`createClient()`,
 *   `createClientPool()`, `createCluster()`, `createSentinel()`), which you open and close, or a client of `@upstash/redis` (`new Redis()`).
 * @param options - Times and the prefix of keys.
 * @throws TypeError if the client is not one of these, or an option is unknown or wrong.
 * @example
 * ```ts
 * import { verifyWebhook } from "@countersign/express";
 * import { redisDedupe } from "@countersign/redis";
 * import { Redis } from "ioredis";
 *
 * const redis = new Redis(process.env.REDIS_URL ?? "redis://127.0.0.1");
 * app.post("/webhooks", verifyWebhook({ secret, dedupe: redisDedupe(redis) }), handler);
 * ```
 */
export function redisDedupe(client: RedisClient, options: RedisDedupeOptions = {}): DedupeStore {
  const run = scriptRunner(client);
  checkOptionNames("redisDedupe(client, options)", options, OPTION_NAMES);
  const { prefix = "countersign:" } = options;
  if (typeof prefix !== "string") throw new TypeError("redisDedupe({ prefix }) must be a string.");
  const ttl = milliseconds("ttl", options.ttl ?? "5h");
  const lease = milliseconds("lease", options.lease ?? "1m");
  const timeout = milliseconds("timeout", options.timeout ?? "2s");
  const send = (script: string, key: string, args: readonly string[]): Promise<unknown> =>
    run(script, prefix + key, args).catch(throwWithAdvice);
  const ask = (script: string, key: string, args: readonly string[]): Promise<unknown> =>
    withTimeout(send(script, key, args), timeout);

  return sharedDedupe(
    {
      async claim(key, token) {
        const answer = send(CLAIM, key, [token, String(lease)]);
        try {
          return asClaim(await withTimeout(answer, timeout));
        } catch (error) {
          // The connections of a pool keep no order: a release that is sent now may be done before the claim.
          answer.then(() => ask(RELEASE, key, [token])).catch(() => {});
          throw error;
        }
      },
      commit: async (key) => void (await ask(COMMIT, key, [String(ttl)])),
      release: async (key, token) => void (await ask(RELEASE, key, [token])),
    },
    lease,
  );
}

function milliseconds(name: keyof RedisDedupeOptions, value: Duration): number {
  const ms = parseDuration(value, `redisDedupe({ ${name} })`);
  if (ms > 0) return ms;
  throw new TypeError(`redisDedupe({ ${name} }) must be longer than 0.`);
}

function asClaim(answer: unknown): Claim {
  // A client may be set to return Buffers.
  const text = String(answer);
  if (text === "new" || text === "in-flight" || text === "done") return text;
  throw new Error(`redisDedupe: Redis answered a claim with ${JSON.stringify(text.slice(0, 100))}.`);
}

/** What to do about an error of Redis, by a word of it. */
const ADVICE: readonly (readonly [word: RegExp, advice: string])[] = [
  [
    /\bMOVED\b/,
    "It is a cluster, and the client knows one node of it. Use new Cluster() of ioredis, or createCluster() of node-redis.",
  ],
  [/\bREADONLY\b/, "The client leads to a replica. Connect it to the primary."],
  [
    /\bOOM\b/,
    "Its memory is full. Raise maxmemory, or remove other keys: a maxmemory-policy that removes what was handled lets repeats through.",
  ],
  [
    /\bNOPERM\b|can't run this command/,
    "The user of the client needs the commands EVAL, GET, SET and DEL, and the keys that begin with the prefix.",
  ],
  [/\b(?:WRONGPASS|NOAUTH)\b/, "Check the user and the password of the client."],
];

function throwWithAdvice(error: unknown): never {
  const message = messageOf(error).replace(/\.$/, "");
  const advice = ADVICE.find(([word]) => word.test(message))?.[1];
  throw new Error(`redisDedupe: Redis failed: ${message}.${advice === undefined ? "" : ` ${advice}`}`, {
    cause: error,
  });
}

/** Clients queue commands while Redis is away, for much longer than a webhook can wait. */
function withTimeout<Value>(answer: Promise<Value>, timeoutMs: number): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(
        new Error(
          `redisDedupe: Redis did not answer within ${timeoutMs} ms. Check that it is running, and what the error event of the client says.`,
        ),
      );
    }, timeoutMs);
    answer.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
