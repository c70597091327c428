import type { DedupeStore } from "./dedupe.ts";
import { diagnose, diagnoseForm, type Diagnosis } from "./diagnose.ts";
import { WebhookError } from "./errors.ts";
import { validateEvent, type EventDefinitions } from "./events.ts";
import type { UnknownMessage, WebhookMessage } from "./messages.ts";
import { checkHead, headerValue, readBody, type ReadBody, type WebhookRequest } from "./request.ts";
import { readSignature, secretList, sign, type Secrets, type SignatureHeader } from "./signature.ts";
import {
  authenticate,
  parseBody,
  typed,
  type ReceivedMessage,
  type Verification,
  type VerifiedWebhook,
} from "./verify-webhook.ts";

/** Finds the secrets of a request, as for several tenants. An empty answer means that there are none: it is refused. */
export type SecretFunction<TRequest> = (
  request: TRequest,
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

/** Options of a receiver: the same for every adapter. */
export interface ReceiverOptions<TRequest = unknown, AllowUnknown extends boolean = false> {
  /**
   * The shared secret; a list of which any may match, to rotate without losing a message; or a function of the request.
   * Default: the environment variable `WEBHOOK_SECRET`.
   */
  readonly secret?: Secrets | SecretFunction<TRequest>;
  /** Secrets that were in force before. They are never accepted; a mismatch is explained by them. Default: none. */
  readonly retiredSecrets?: readonly string[];
  /** Accept messages without checking any signature: anyone who knows the URL can send them. Default: false. */
  readonly unsigned?: boolean;
  /** Accept a signature over the exact bytes alone. Default: false. */
  readonly strict?: boolean;
  /** The largest body accepted, in bytes. Default: 1,048,576 (1 MiB); the service sends 32 KB at most. */
  readonly maxBodyBytes?: number;
  /** Hand on messages of a type that is not one of the seven, as {@link UnknownMessage}. Default: false. */
  readonly allowUnknownTypes?: AllowUnknown;
  /** Track events to validate, from `defineEvents`. Default: none. */
  readonly events?: EventDefinitions;
  /** Remembers which deliveries were handled, so that a repeat does not run the handler again. Default: none. */
  readonly dedupe?: DedupeStore;
  /** Is told of every message accepted, before the handler. What it throws fails the request. */
  readonly onVerified?: (
    webhook: VerifiedWebhook<ReceivedMessage<AllowUnknown>>,
    request: TRequest,
  ) => void | Promise<void>;
  /** Is told of every request refused: for logs and metrics. What it throws fails the request. */
  readonly onRejected?: (error: WebhookError, rejected: RejectedRequest<TRequest>) => void | Promise<void>;
  /**
   * For adapters: who answers a request that is refused. `'answer'`: the adapter, by `toProblem`. `'throw'`: the
   * framework's own error handling, which is given the {@link WebhookError}. Default: `'answer'`.
   */
  readonly onError?: "answer" | "throw";
}

/** The verdict on a request. */
export type Received<AllowUnknown extends boolean = false> =
  | {
      /** Authentic and well formed: run the handler, then call `settle`. */
      readonly verdict: "verified";
      readonly webhook: VerifiedWebhook<ReceivedMessage<AllowUnknown>>;
      /**
       * Tells the dedupe store how the app answered: 2xx commits the delivery, anything else releases it. Does nothing
       * without a store.
       */
      readonly settle: (status: number) => Promise<void>;
    }
  | {
      /** Authentic, and handled before: answer 200 and do not run the handler. */
      readonly verdict: "duplicate";
      readonly webhook: VerifiedWebhook<ReceivedMessage<AllowUnknown>>;
    }
  | {
      /** Refused: answer with `toProblem(error)`. */
      readonly verdict: "rejected";
      readonly error: WebhookError;
    };

/** Verifies and types requests. Made by {@link createReceiver}. */
export interface Receiver<TRequest = unknown, AllowUnknown extends boolean = false> {
  /**
   * The verdict on a request. Hostile input never makes it reject: it rejects only with what the app's own `secret`
   * function, hooks, schemas or dedupe store throw, which is a 500.
   */
  receive(request: WebhookRequest<TRequest>): Promise<Received<AllowUnknown>>;
}

const DEFAULT_MAX_BODY_BYTES = 1_048_576;

/**
 * Makes a receiver: what every adapter calls, and what you call to write one for another framework.
 *
 * It checks, cheapest first: method, media type, content encoding, declared length, signature header; then reads the
 * body, verifies it, and only then parses it.
 *
 * @param options - See {@link ReceiverOptions}.
 * @throws TypeError if there is no secret, an empty one, or options that contradict each other.
 * @example
 * ```ts
 * const receiver = createReceiver({ secret });
 * const received = await receiver.receive(toWebhookRequest(request));
 * ```
 */
export function createReceiver<TRequest = unknown, AllowUnknown extends boolean = false>(
  options: ReceiverOptions<TRequest, AllowUnknown> = {},
): Receiver<TRequest, AllowUnknown> {
  const secret = configuredSecret(options);
  const { onVerified, onRejected, dedupe, retiredSecrets = [] } = options;
  if (retiredSecrets.length > 0) secretList(retiredSecrets);
  const maxBytes = options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES;
  if (!(maxBytes > 0)) throw new TypeError(`maxBodyBytes must be a positive number, but is ${maxBytes}.`);

  /** Fills in, step by step, what the hooks are told of a request that is refused on the way. */
  interface Progress {
    secrets?: Secrets;
    rawBody?: Uint8Array;
  }

  async function verify(
    request: WebhookRequest<TRequest>,
    progress: Progress,
  ): Promise<VerifiedWebhook<ReceivedMessage<AllowUnknown>>> {
    checkHead(request, maxBytes);
    const signature = headerValue(request.headers, "x-signature");
    if (secret !== undefined) progress.secrets = await secretsFor(secret, signature, request.request);
    const body = await readBody(request.body, { maxBytes, strict: options.strict ?? false });
    progress.rawBody = body.bytes;
    const verification =
      progress.secrets === undefined
        ? UNVERIFIED
        : authenticateBody(body, signature, progress.secrets, options.strict ?? false);
    const message = body.parsed ? typed(body.parsed.value, options) : parseBody(body.bytes, options);
    return {
      ...verification,
      rawBody: body.bytes,
      message: options.events === undefined ? message : await validateEvent(message, options.events),
    };
  }

  async function refuse(
    error: WebhookError,
    request: TRequest,
    progress: Progress,
    signature: SignatureHeader,
  ): Promise<Received<AllowUnknown>> {
    if (onRejected === undefined) return { verdict: "rejected", error };
    const { rawBody, secrets } = progress;
    let diagnoses: readonly Diagnosis[] = [];
    if (error.code === "ERR_SIGNATURE_MALFORMED") diagnoses = diagnoseForm(signature);
    if (error.code === "ERR_SIGNATURE_MISMATCH" && rawBody !== undefined && secrets !== undefined) {
      diagnoses = diagnose({ body: rawBody, signature, secret: secrets, retiredSecrets });
    }
    const explained = diagnoses[0] === undefined ? error : withHint(error, diagnoses[0].message);
    await onRejected(explained, { request, diagnoses, ...(rawBody === undefined ? {} : { rawBody }) });
    return { verdict: "rejected", error: explained };
  }

  return {
    async receive(request) {
      const progress: Progress = {};
      try {
        const webhook = await verify(request, progress);
        const key = dedupeKey(webhook, typeof secret === "function" ? progress.secrets : undefined);
        const claim = (await dedupe?.claim(key)) ?? "new";
        if (claim === "in-flight") throw new WebhookError("ERR_DUPLICATE_IN_FLIGHT");
        return claim === "done"
          ? { verdict: "duplicate", webhook }
          : await accept(webhook, key, request.request);
      } catch (error) {
        if (!(error instanceof WebhookError)) throw error;
        return refuse(error, request.request, progress, headerValue(request.headers, "x-signature"));
      }
    },
  };

  async function accept(
    webhook: VerifiedWebhook<ReceivedMessage<AllowUnknown>>,
    key: string,
    request: TRequest,
  ): Promise<Received<AllowUnknown>> {
    const settle = async (status: number): Promise<void> => {
      await (status >= 200 && status < 300 ? dedupe?.commit(key) : dedupe?.release(key));
    };
    try {
      await onVerified?.(webhook, request);
    } catch (error) {
      await settle(500);
      throw error;
    }
    return { verdict: "verified", webhook, settle };
  }
}

const UNVERIFIED: Verification = { signature: undefined, secretIndex: -1, verifiedOver: "none" };

/** The secret of the options, or of the environment; undefined where messages are accepted unsigned. */
function configuredSecret<TRequest>(
  options: Pick<ReceiverOptions<TRequest, boolean>, "secret" | "unsigned">,
): Secrets | SecretFunction<TRequest> | undefined {
  if (options.unsigned) {
    if (options.secret === undefined) return undefined;
    throw new TypeError(
      "unsigned: true and a secret contradict each other: with it, no signature is checked.",
    );
  }
  const secret = options.secret ?? environmentSecret();
  if (typeof secret === "function") return secret;
  if (secret === undefined || secret === "") {
    throw new TypeError(
      "A webhook receiver needs a secret: pass { secret }, or set the environment variable WEBHOOK_SECRET. " +
        "To accept messages that anyone could have sent, say { unsigned: true }.",
    );
  }
  return secretList(secret);
}

function environmentSecret(): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env?.["WEBHOOK_SECRET"];
}

async function secretsFor<TRequest>(
  secret: Secrets | SecretFunction<TRequest>,
  signature: SignatureHeader,
  request: TRequest,
): Promise<Secrets> {
  const header = readSignature(signature);
  if (!header.ok) throw new WebhookError(header.code);
  const secrets = typeof secret === "function" ? await secret(request) : secret;
  if (secrets == null || secrets.length === 0) {
    throw new WebhookError("ERR_SIGNATURE_MISMATCH", {
      hint: "The secret function gave no secret for this request.",
    });
  }
  return secrets;
}

function authenticateBody(
  body: ReadBody,
  signature: SignatureHeader,
  secrets: Secrets,
  strict: boolean,
): Verification {
  const verification = authenticate(body.bytes, signature, secrets, strict);
  return body.parsed ? { ...verification, verifiedOver: "json" } : verification;
}

/**
 * What a repeat is recognised by. Where tenants share a store, each has keys of its own: no tenant can make another's
 * message look handled.
 */
function dedupeKey(
  webhook: VerifiedWebhook<WebhookMessage | UnknownMessage>,
  tenant: Secrets | undefined,
): string {
  const { messageId } = webhook.message;
  const id =
    typeof messageId === "string" && messageId !== ""
      ? messageId
      : (webhook.signature ??
        sign(webhook.rawBody, "a message without id or signature is known by its bytes"));
  const matched = typeof tenant === "string" ? tenant : tenant?.[webhook.secretIndex];
  return matched === undefined ? id : `${sign("dedupe", matched).slice(0, 16)}:${id}`;
}

function withHint(error: WebhookError, hint: string): WebhookError {
  return new WebhookError(error.code, { message: error.message, hint, cause: error.cause });
}
