import type { DedupeStore } from "./dedupe.ts";
import { diagnose, diagnoseForm, type Diagnosis } from "./diagnose.ts";
import { WebhookError } from "./errors.ts";
import { validateEvent } from "./events.ts";
import type { UnknownMessage, WebhookMessage } from "./messages.ts";
import { emitWarning } from "./process.ts";
import {
  checkOptions,
  configuredSecret,
  DEFAULT_MAX_BODY_BYTES,
  type ReceiverOptions,
  type SecretFunction,
} from "./receiver-options.ts";
import { checkHead, headerValue, readBody, type ReadBody, type WebhookRequest } from "./request.ts";
import { readSignature, sign, type Secrets, type SignatureHeader } from "./signature.ts";
import {
  authenticate,
  parseBody,
  typed,
  type ReceivedMessage,
  type Verification,
  type VerifiedWebhook,
} from "./verify-webhook.ts";

/** The verdict on a request. */
export type Received<AllowUnknown extends boolean = false> =
  | {
      /** Authentic and well formed: run the handler, then call `settle`. */
      readonly verdict: "verified";
      readonly webhook: VerifiedWebhook<ReceivedMessage<AllowUnknown>>;
      /**
       * Tells the dedupe store how the app answered: 2xx commits the delivery, anything else releases it. Does nothing
       * without a store. It never rejects: the app has answered, and must not seem to have failed because its store did.
       * Where a store fails, the claim runs out, and Node, Bun and Deno emit a process warning, `COUNTERSIGN_DEDUPE`.
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
export interface Receiver<
  TRequest = unknown,
  AllowUnknown extends boolean = false,
  Context extends readonly unknown[] = readonly [],
> {
  /**
   * The verdict on a request. Hostile input never makes it reject: it rejects only with what the app's own `secret`
   * function, hooks, schemas or dedupe store throw, which is a 500. What comes after the request is passed on to the
   * `secret` function and the hooks.
   */
  receive(request: WebhookRequest<TRequest>, ...context: Context): Promise<Received<AllowUnknown>>;
}

/**
 * Makes a receiver: what every adapter calls, and what you call to write one for another framework.
 *
 * It checks, cheapest first: method, media type, content encoding, declared length, signature header; then reads the
 * body, verifies it, and only then parses it.
 *
 * @param options - See {@link ReceiverOptions}.
 * @throws TypeError if there is no secret, an empty one, an option that does not exist, or options that contradict each
 *   other.
 * @example
 * ```ts
 * const receiver = createReceiver({ secret });
 * const received = await receiver.receive(toWebhookRequest(request));
 * ```
 */
export function createReceiver<
  TRequest = unknown,
  AllowUnknown extends boolean = false,
  Context extends readonly unknown[] = readonly [],
>(options: ReceiverOptions<TRequest, AllowUnknown, Context> = {}): Receiver<TRequest, AllowUnknown, Context> {
  checkOptions(options);
  const secret = configuredSecret(options);
  const { onVerified, onRejected, dedupe, retiredSecrets = [] } = options;
  const maxBytes = options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES;

  /** What came with a request; what the hooks are told of it is filled in on the way. */
  interface Progress {
    readonly context: Context;
    secrets?: Secrets;
    rawBody?: Uint8Array;
  }

  async function verify(
    request: WebhookRequest<TRequest>,
    progress: Progress,
  ): Promise<VerifiedWebhook<ReceivedMessage<AllowUnknown>>> {
    checkHead(request, maxBytes);
    const signature = headerValue(request.headers, "x-signature");
    if (secret !== undefined) {
      progress.secrets = await secretsFor(secret, signature, request.request, progress.context);
    }
    const body = await readBody(request.body, { maxBytes, strict: options.strict ?? false });
    progress.rawBody = body.bytes;
    const verification =
      progress.secrets === undefined
        ? UNVERIFIED
        : authenticateBody(body, signature, progress.secrets, options.strict ?? false);
    const message = body.parsed
      ? typed(body.parsed.value, options)
      : parseBody(body.bytes, verification.verifiedOver, options);
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
    const { rawBody, context } = progress;
    const { explained, diagnoses } = explain(error, signature, { ...progress, retiredSecrets });
    const rejected = { request, diagnoses, ...(rawBody === undefined ? {} : { rawBody }) };
    await onRejected(explained, rejected, ...context);
    return { verdict: "rejected", error: explained };
  }

  return {
    async receive(request, ...context) {
      const progress: Progress = { context };
      try {
        const webhook = await verify(request, progress);
        const tenant = typeof secret === "function" ? progress.secrets : undefined;
        const key = dedupe === undefined ? "" : dedupeKey(webhook, tenant);
        const claim = (await dedupe?.claim(key)) ?? "new";
        if (claim === "in-flight") throw new WebhookError("ERR_DUPLICATE_IN_FLIGHT");
        return claim === "done"
          ? { verdict: "duplicate", webhook }
          : await accept(webhook, key, request.request, context);
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
    context: Context,
  ): Promise<Received<AllowUnknown>> {
    const settle = settleIn(dedupe, key);
    try {
      await onVerified?.(webhook, request, ...context);
    } catch (error) {
      await settle(500);
      throw error;
    }
    return { verdict: "verified", webhook, settle };
  }
}

/** Tells a store how the app answered a delivery; see {@link Received}. */
function settleIn(dedupe: DedupeStore | undefined, key: string): (status: number) => Promise<void> {
  return async (status) => {
    try {
      await (status >= 200 && status < 300 ? dedupe?.commit(key) : dedupe?.release(key));
    } catch (error) {
      emitWarning(
        `The dedupe store failed after the webhook was handled: ${String(error)}`,
        "COUNTERSIGN_DEDUPE",
      );
    }
  };
}

const UNEXPLAINED =
  "None of the usual causes explains it: the sender has another secret, it is a forgery, or something on the way " +
  "changed the body. Compare the secrets first, then rawBody with what was sent.";

const UNVERIFIED: Verification = { signature: undefined, secretIndex: -1, verifiedOver: "none" };

async function secretsFor<TRequest, Context extends readonly unknown[]>(
  secret: Secrets | SecretFunction<TRequest, Context>,
  signature: SignatureHeader,
  request: TRequest,
  context: Context,
): Promise<Secrets> {
  const header = readSignature(signature);
  if (!header.ok) throw new WebhookError(header.code);
  const secrets = typeof secret === "function" ? await secret(request, ...context) : secret;
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

const MAX_ID_LENGTH = 200;

/**
 * What a repeat is recognised by. Where tenants share a store, each has keys of its own: no tenant can make another's
 * message look handled.
 */
function dedupeKey(
  webhook: VerifiedWebhook<WebhookMessage | UnknownMessage>,
  tenant: Secrets | undefined,
): string {
  const { messageId } = webhook.message;
  let id = webhook.signature;
  if (typeof messageId === "string" && messageId !== "") {
    // An id may be as long as a body, and a store keeps many.
    id = messageId.length > MAX_ID_LENGTH ? sign(messageId, "dedupe") : messageId;
  }
  // A message without id or signature is known by its bytes.
  id ??= sign(webhook.rawBody, "dedupe");
  const matched = typeof tenant === "string" ? tenant : tenant?.[webhook.secretIndex];
  return matched === undefined ? id : `${sign("dedupe", matched).slice(0, 16)}:${id}`;
}

/** Why a signature was refused, and the error with that as its hint. Any other error as it is. */
function explain(
  error: WebhookError,
  signature: SignatureHeader,
  known: {
    readonly rawBody?: Uint8Array;
    readonly secrets?: Secrets;
    readonly retiredSecrets: readonly string[];
  },
): { readonly explained: WebhookError; readonly diagnoses: readonly Diagnosis[] } {
  const { rawBody, secrets, retiredSecrets } = known;
  let diagnoses: readonly Diagnosis[] = [];
  let hint: string | undefined;
  if (error.code === "ERR_SIGNATURE_MALFORMED") diagnoses = diagnoseForm(signature);
  if (error.code === "ERR_SIGNATURE_MISMATCH" && rawBody !== undefined && secrets !== undefined) {
    diagnoses = diagnose({ body: rawBody, signature, secret: secrets, retiredSecrets });
    hint = UNEXPLAINED;
  }
  hint = diagnoses[0]?.message ?? hint;
  if (hint === undefined) return { explained: error, diagnoses };
  const { code, message, cause } = error;
  return { explained: new WebhookError(code, { message, hint, cause }), diagnoses };
}
