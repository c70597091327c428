import type { DedupeStore } from "./dedupe.ts";
import type { Diagnosis } from "./diagnose.ts";
import type { WebhookError } from "./errors.ts";
import { checkEvents, type EventDefinitions } from "./events.ts";
import { checkOptionNames } from "./option-names.ts";
import { environmentVariable } from "./process.ts";
import { secretList, type Secrets } from "./signature.ts";
import type { ReceivedMessage, VerifiedWebhook } from "./verify-webhook.ts";

/** Finds the secrets of a request, as for several tenants. An empty answer means that there are none: it is refused. */
export type SecretFunction<TRequest, Context extends readonly unknown[] = readonly []> = (
  request: TRequest,
  ...context: Context
) => Secrets | null | undefined | Promise<Secrets | null | undefined>;

/** What {@link ReceiverOptions.onRejected} is told beside the error. */
export interface RejectedRequest<TRequest = unknown> {
  /** The framework's own request. */
  readonly request: TRequest;
  /** The exact bytes received, where they were read. */
  readonly rawBody?: Uint8Array;
  /** Why the signature did not match, where that is what was wrong and one of the usual causes explains it. */
  readonly diagnoses: readonly Diagnosis[];
}

/**
 * Options of a receiver: the same for every adapter. Functions are given the framework's request, and after it what
 * else the framework has to say of it: `Context`, which is empty unless its handlers take more than a request.
 */
export interface ReceiverOptions<
  TRequest = unknown,
  AllowUnknown extends boolean = false,
  Context extends readonly unknown[] = readonly [],
> {
  /**
   * The shared secret; a list of which any may match, to rotate without losing a message; or a function of the request.
   * Default: the environment variable `WEBHOOK_SECRET`.
   */
  readonly secret?: Secrets | SecretFunction<TRequest, Context> | undefined;
  /** Secrets that were in force before. They are never accepted; a mismatch is explained by them. Default: none. */
  readonly retiredSecrets?: readonly string[];
  /** Accept messages without checking any signature: anyone who knows the URL can send them. Default: false. */
  readonly unsigned?: boolean;
  /** Accept a signature over the exact bytes alone. Default: false. */
  readonly strict?: boolean;
  /** The largest body accepted, in bytes. Default: 1,048,576 (1 MiB); the service sends 32 KB at most. */
  readonly maxBodyBytes?: number;
  /** Hand on messages of a type that is not one of the seven, as `UnknownMessage`. Default: false. */
  readonly allowUnknownTypes?: AllowUnknown;
  /**
   * Track events to validate, from `defineEvents`. Default: none. Where a schema transforms, read the properties in a
   * router's handler for the event: that is where they have the type of its output.
   */
  readonly events?: EventDefinitions;
  /** Remembers which deliveries were handled, so that a repeat does not run the handler again. Default: none. */
  readonly dedupe?: DedupeStore;
  /** Is told of every message accepted, before the handler. What it throws fails the request. */
  readonly onVerified?: (
    webhook: VerifiedWebhook<ReceivedMessage<AllowUnknown>>,
    request: TRequest,
    ...context: Context
  ) => void | Promise<void>;
  /** Is told of every request refused: for logs and metrics. What it throws fails the request. */
  readonly onRejected?: (
    error: WebhookError,
    rejected: RejectedRequest<TRequest>,
    ...context: Context
  ) => void | Promise<void>;
  /**
   * For adapters: who answers a request that is refused. `'answer'`: the adapter, by `toProblem`. `'throw'`: the
   * framework's own error handling, which is given the {@link WebhookError}. Default: `'answer'`.
   */
  readonly onError?: "answer" | "throw";
}

/** The limit where the options name none. */
export const DEFAULT_MAX_BODY_BYTES: number = 1_048_576;

const NAMES: Readonly<Record<keyof ReceiverOptions, true>> = {
  secret: true,
  retiredSecrets: true,
  unsigned: true,
  strict: true,
  maxBodyBytes: true,
  allowUnknownTypes: true,
  events: true,
  dedupe: true,
  onVerified: true,
  onRejected: true,
  onError: true,
};

const ON_ERROR: ReadonlySet<unknown> = new Set([undefined, "answer", "throw"]);

/**
 * Refuses options that would otherwise show their mistake at the first request, or never.
 *
 * @throws TypeError naming the option.
 */
export function checkOptions<TRequest, Context extends readonly unknown[]>(
  options: ReceiverOptions<TRequest, boolean, Context>,
): void {
  checkOptionNames("A webhook receiver", options, Object.keys(NAMES));
  for (const name of ["unsigned", "strict", "allowUnknownTypes"] as const) {
    // From an environment variable, say, "false" is a text, and would count as true.
    checkKind(name, options[name], "boolean");
  }
  for (const name of ["onVerified", "onRejected"] as const) checkKind(name, options[name], "function");
  const { maxBodyBytes = DEFAULT_MAX_BODY_BYTES, retiredSecrets = [], dedupe, onError } = options;
  if (typeof maxBodyBytes !== "number" || !(maxBodyBytes > 0)) {
    throw new TypeError(
      `The option maxBodyBytes must be a positive number of bytes, but is ${maxBodyBytes}.`,
    );
  }
  if (!Array.isArray(retiredSecrets)) throw new TypeError("The option retiredSecrets must be a list.");
  if (retiredSecrets.length > 0) secretList(retiredSecrets);
  if (!ON_ERROR.has(onError)) throw new TypeError('The option onError must be "answer" or "throw".');
  checkEvents(options.events);
  if (dedupe === undefined) return;
  for (const method of ["claim", "commit", "release"] as const) {
    if (typeof (dedupe as Partial<DedupeStore> | null)?.[method] !== "function") {
      throw new TypeError(
        `The option dedupe must be a store such as memoryDedupe(), but has no ${method}().`,
      );
    }
  }
}

function checkKind(name: string, value: unknown, kind: "boolean" | "function"): void {
  if (value === undefined || typeof value === kind) return;
  throw new TypeError(`The option ${name} must be a ${kind}, but is of type ${typeof value}.`);
}

/** The secret of the options, or of the environment; undefined where messages are accepted unsigned. */
export function configuredSecret<TRequest, Context extends readonly unknown[]>(
  options: Pick<ReceiverOptions<TRequest, boolean, Context>, "secret" | "unsigned">,
): Secrets | SecretFunction<TRequest, Context> | undefined {
  if (options.unsigned) {
    if (options.secret === undefined) return undefined;
    throw new TypeError(
      "unsigned: true and a secret contradict each other: with it, no signature is checked.",
    );
  }
  const secret = options.secret ?? environmentVariable("WEBHOOK_SECRET");
  if (typeof secret === "function") return secret;
  if (secret === undefined || secret === "") {
    throw new TypeError(
      "A webhook receiver needs a secret: pass { secret }, or set the environment variable WEBHOOK_SECRET. " +
        "To accept messages that anyone could have sent, say { unsigned: true }.",
    );
  }
  return secretList(secret);
}
