import { isObject, nameKind } from "@countersign/protocol/json";
import {
  checkFunction,
  checkOptionNames,
  checkPort,
  EVENTS_SYNONYMS,
  GUESSABLE,
  isGuessable,
  ON_REJECTED_SYNONYMS,
  SECRET_SYNONYMS,
  type OptionHints,
  type OptionNames,
} from "@countersign/protocol/options";
import type { DedupeStore } from "../dedupe/dedupe.ts";
import type { Diagnosis } from "../verification/diagnosis.ts";
import type { WebhookError } from "../errors.ts";
import { checkEvents, type EventDefinitions, type InvalidEvents } from "../messages/events.ts";
import type { ReceiverInstrument } from "./instrument.ts";
import type { ReceivedMessage, WebhookMessage } from "../messages/messages.ts";
import { environmentVariable } from "../process.ts";
import { secretList, type Secrets } from "../verification/signature.ts";
import type { AllowUnknownTypes, VerifiedWebhook } from "../verification/verify-webhook.ts";
import { warnOfSecrets } from "./warnings.ts";

/** A tenant and its secrets, from a {@link SecretFunction}. */
export interface TenantSecret {
  /** The tenant's secret, or a list of secrets any of which may match. None: the request is rejected. */
  readonly secret: Secrets | null | undefined;
  /** The tenant's name. With `dedupe`, each tenant has its own keys, and a rotation of its secret does not change them. */
  readonly tenant: string;
}

/**
 * Finds the secrets of a request, for receivers of several tenants. Undefined, null or an empty list rejects the request. An empty
 * text is an error, as it is at creation: a variable is not set. With `dedupe`, return `{ secret, tenant }`: without a name, the
 * secret that matched identifies the tenant.
 */
export type SecretFunction<TRequest> = (request: TRequest) => SecretResult | Promise<SecretResult>;

type SecretResult = Secrets | TenantSecret | null | undefined;

/** The second argument of {@link ReceiverOptions.onRejected}. */
export interface RejectedRequest<TRequest = unknown> {
  /** The framework's own request. */
  readonly request: TRequest;
  /** The bytes received, if they were read and kept. They are not authenticated. */
  readonly receivedBody?: Uint8Array;
  /**
   * Why the signature did not match, if one of the usual causes explains it. Empty, too, while more are rejected than a process
   * explains: 256 at once and 64 more in each second if they are small, fewer if they are large.
   */
  readonly diagnoses: readonly Diagnosis[];
}

/** Options of a receiver: the same for every adapter. Functions get the framework's request. */
export interface ReceiverOptions<TRequest = unknown, Message extends ReceivedMessage = WebhookMessage> {
  /**
   * The shared secret; a list of secrets any of which may match, to rotate without losing a message; or a function of
   * the request. Default: the environment variable `WEBHOOK_SECRET`.
   */
  readonly secret?: Secrets | SecretFunction<TRequest> | undefined;
  /**
   * Secrets that were used before. They are never accepted, but are used to explain a mismatch. One that is also in `secret` is
   * an error. Default: none.
   */
  readonly retiredSecrets?: readonly string[] | undefined;
  /** Accept messages without checking any signature: anyone who knows the URL can send them. Default: false. */
  readonly unsigned?: boolean | undefined;
  /** Compare only the exact bytes with the signature. Default: false. */
  readonly strict?: boolean | undefined;
  /** The largest body accepted, in bytes. The service sends at most 64 KB. Default: 1,048,576 (1 MiB). */
  readonly maxBodyBytes?: number | undefined;
  /** Accept messages of a type that is not one of the seven, as `UnknownMessage`. Default: false. */
  readonly allowUnknownTypes?: AllowUnknownTypes<Message> | undefined;
  /**
   * Track events to validate, from `defineEvents`. If a schema transforms, read the properties in a router's handler for the
   * event, where they have the type of its output. Default: none.
   */
  readonly events?: EventDefinitions | undefined;
  /**
   * What happens to an authentic track event that does not match its schema. `"reject"`: a 422, which is final. `"report"`:
   * it is accepted as received, and `webhook.issues` says what does not match. Default: `"reject"`.
   */
  readonly invalidEvents?: InvalidEvents | undefined;
  /** Remembers which deliveries were handled, so that a repeat does not run the handler again. Default: none. */
  readonly dedupe?: DedupeStore | undefined;
  /** Runs for every accepted message, before the handler. If it throws, the request fails. */
  readonly onVerified?:
    | ((webhook: VerifiedWebhook<Message>, request: TRequest) => void | Promise<void>)
    | undefined;
  /**
   * Runs for every rejected request: for logs and metrics. If it throws, the request fails. Default: on Node, Bun and Deno, a
   * process warning for a body that was read before and not kept, and, once a minute at most, for a malformed or wrong signature.
   */
  readonly onRejected?:
    | ((error: WebhookError, rejected: RejectedRequest<TRequest>) => void | Promise<void>)
    | undefined;
  /**
   * Who answers a rejected request. `"answer"`: the adapter. `"throw"`: the framework's own error handling, which
   * gets the {@link WebhookError}; `receive` rejects with it. Default: `"answer"`.
   */
  readonly onError?: "answer" | "throw" | undefined;
  /** Observes verdicts: `otel()` of `@countersign/core/otel`. Default: none. */
  readonly instrument?: ReceiverInstrument | undefined;
}

/** The limit where the options name none. */
export const DEFAULT_MAX_BODY_BYTES: number = 1_048_576;

const NAMES: OptionNames<ReceiverOptions> = {
  secret: SECRET_SYNONYMS,
  retiredSecrets: ["oldsecret oldsecrets previoussecret previoussecrets"],
  unsigned: true,
  strict: true,
  maxBodyBytes: ["limit bodylimit maxbodysize maxbytes maxsize", "a number of bytes"],
  allowUnknownTypes: true,
  events: EVENTS_SYNONYMS,
  invalidEvents: true,
  dedupe: ["deduplicate idempotency"],
  onVerified: ["onmessage onsuccess"],
  onRejected: ON_REJECTED_SYNONYMS,
  onError: true,
  instrument: true,
};

const HINTS: OptionHints = {
  header: "the signature is always in X-Signature",
  tolerance: "signatures have no time in them; use dedupe against repeats",
  secrets: 'pass the list as "secret"',
};

const ON_ERROR: ReadonlySet<unknown> = new Set([undefined, "answer", "throw"]);

/**
 * Refuses wrong options that would otherwise cause an error at the first request, or never.
 *
 * @throws TypeError naming the option.
 */
export function checkOptions<TRequest, Message extends ReceivedMessage>(
  options: ReceiverOptions<TRequest, Message>,
): void {
  // A framework calls its middleware with a request, or with a context that has a request's headers.
  if (isObject(options) && "headers" in options) {
    throw new TypeError(
      "A webhook receiver got a request instead of options. Call the function, and mount what it returns: " +
        "verifyWebhook({ secret }).",
    );
  }
  checkOptionNames("A webhook receiver", options, NAMES, HINTS);
  for (const name of ["unsigned", "strict", "allowUnknownTypes"] as const) {
    // An environment variable gives the string "false", which would count as true.
    const value: unknown = options[name];
    if (value !== undefined && typeof value !== "boolean") {
      throw new TypeError(`The option ${name} must be a boolean, but is ${nameKind(value)}.`);
    }
  }
  for (const name of ["onVerified", "onRejected"] as const) {
    checkFunction(`The option ${name}`, options[name]);
  }
  const { maxBodyBytes = DEFAULT_MAX_BODY_BYTES, retiredSecrets = [], dedupe, onError } = options;
  if (typeof maxBodyBytes !== "number" || !(maxBodyBytes > 0)) {
    throw new TypeError(
      `The option maxBodyBytes must be a positive number of bytes, but is ${maxBodyBytes}.`,
    );
  }
  if (!Array.isArray(retiredSecrets)) throw new TypeError("The option retiredSecrets must be a list.");
  if (retiredSecrets.length > 0) secretList(retiredSecrets);
  if (!ON_ERROR.has(onError)) throw new TypeError('The option onError must be "answer" or "throw".');
  checkEvents(options.events, options.invalidEvents);
  if (dedupe !== undefined) {
    checkPort("The option dedupe, a store such as memoryDedupe(),", dedupe, ["claim", "commit", "release"]);
  }
  if (options.instrument !== undefined) {
    checkPort("The option instrument, such as otel(),", options.instrument, ["receive"]);
  }
}

/** The secret of the options, or of the environment; undefined if messages are accepted unsigned. */
export function configuredSecret<TRequest>(
  options: Pick<ReceiverOptions<TRequest>, "secret" | "retiredSecrets" | "unsigned">,
): readonly string[] | SecretFunction<TRequest> | undefined {
  if (options.unsigned) {
    if (options.secret === undefined) return undefined;
    throw new TypeError("unsigned: true and a secret contradict each other. Remove one.");
  }
  const secret = options.secret ?? environmentVariable("WEBHOOK_SECRET");
  if (typeof secret === "function") return secret;
  if (!secret) {
    throw new TypeError(
      "A webhook receiver needs a secret: pass { secret }, or set the environment variable WEBHOOK_SECRET. " +
        "To accept messages from anyone, pass { unsigned: true }.",
    );
  }
  const secrets = usableSecrets(secret);
  if (options.retiredSecrets?.some((one) => secrets.includes(one))) {
    throw new TypeError("A secret is in secret and in retiredSecrets. Remove it from one.");
  }
  warnOfSecrets(secrets);
  return secrets;
}

/** The secrets as a list. @throws TypeError for an empty one, and for one that anyone could guess. */
export function usableSecrets(secret: Secrets): readonly string[] {
  const secrets = secretList(secret);
  if (secrets.some(isGuessable)) throw new TypeError(`The secret ${GUESSABLE}`);
  return secrets;
}
