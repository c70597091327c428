import type { DedupeStore } from "./dedupe.ts";
import { dedupeKey, type DedupeScope } from "./dedupe-key.ts";
import { WebhookError } from "./errors.ts";
import { validateEvent } from "./events.ts";
import { explain } from "./explain.ts";
import type { ReceivedMessage, WebhookMessage } from "./messages.ts";
import { emitWarning } from "./process.ts";
import {
  checkOptions,
  configuredSecret,
  DEFAULT_MAX_BODY_BYTES,
  usableSecrets,
  type ReceiverOptions,
  type SecretFunction,
} from "./receiver-options.ts";
import { checkHead, headerValue, readBody, type WebhookRequest } from "./request.ts";
import { ALREADY_HANDLED, toProblem, type WebhookResponse } from "./response.ts";
import { readSignature } from "./signature.ts";
import { authenticate, readMessage, type ReadBody, type VerifiedWebhook } from "./verify-webhook.ts";
import { debugRefusal, debugVerdict, isCheapToExplain, isWarningDue, warnOfRefusal } from "./warnings.ts";

/** The verdict on a request. Where the handler must not run, it carries the response. */
export type Received<Message extends ReceivedMessage = WebhookMessage> =
  | {
      /** Authentic and well formed: run the handler, then call `settle`. */
      readonly verdict: "verified";
      readonly webhook: VerifiedWebhook<Message>;
      /**
       * Tells the dedupe store how the app answered: a 2xx status commits the delivery, any other releases it. Without a
       * store it does nothing. It never rejects: the app has answered, and must not seem to have failed because its store
       * did. If the store fails, the claim expires, and Node, Bun and Deno emit a process warning, `COUNTERSIGN_DEDUPE`.
       */
      readonly settle: (status: number) => Promise<void>;
    }
  | {
      /** Authentic, and handled before: send `response`, a 200. */
      readonly verdict: "duplicate";
      readonly webhook: VerifiedWebhook<Message>;
      readonly response: WebhookResponse;
    }
  | {
      /** Rejected: send `response`, a problem document. */
      readonly verdict: "rejected";
      readonly error: WebhookError;
      readonly response: WebhookResponse;
    };

/** Verifies and types requests. Made by {@link createReceiver}. */
export interface Receiver<TRequest = unknown, Message extends ReceivedMessage = WebhookMessage> {
  /**
   * The verdict on a request. Hostile input never makes it reject. It rejects with what the app's own `secret` function,
   * hooks, schemas or dedupe store throw, which is a 500, and with `onError: "throw"` with the error of a rejection.
   */
  receive(request: WebhookRequest<TRequest>): Promise<Received<Message>>;
}

/**
 * Creates a receiver: what every adapter calls, and what you call to write an adapter for another framework.
 *
 * It checks in this order, cheapest first: method, media type, content encoding, declared length, signature header. Then it
 * reads the body, verifies it, and parses it.
 *
 * @param options - See {@link ReceiverOptions}.
 * @throws TypeError for a missing, empty or blank secret, an unknown option, or options that contradict each other.
 * @example
 * ```ts
 * const receiver = createReceiver({ secret });
 * const received = await receiver.receive(toWebhookRequest(request));
 * ```
 */
export function createReceiver<TRequest = unknown>(
  options: ReceiverOptions<TRequest, ReceivedMessage> & { readonly allowUnknownTypes: true },
): Receiver<TRequest, ReceivedMessage>;
export function createReceiver<TRequest = unknown, Message extends ReceivedMessage = WebhookMessage>(
  options?: ReceiverOptions<TRequest, Message>,
): Receiver<TRequest, Message>;
export function createReceiver<TRequest, Message extends ReceivedMessage>(
  options: ReceiverOptions<TRequest, Message> = {},
): Receiver<TRequest, Message> {
  checkOptions(options);
  const secret = configuredSecret(options);
  const { onVerified, onRejected, dedupe, events, strict = false, retiredSecrets = [] } = options;
  const maxBytes = options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES;

  async function verify(
    request: WebhookRequest<TRequest>,
    progress: Progress,
  ): Promise<{ webhook: VerifiedWebhook<Message>; key: string | undefined }> {
    checkHead(request, maxBytes);
    if (secret !== undefined) {
      const header = readSignature(progress.header);
      if (!header.ok) throw new WebhookError(header.code);
      progress.signature = header.hex;
      if (typeof secret === "function") await findSecrets(secret, request.request, progress);
      else progress.secrets = secret;
    }
    const body = await readBody(request.body, { maxBytes, strict });
    progress.body = body;
    const { signature, secrets } = progress;
    const verification =
      signature === undefined || secrets === undefined
        ? unverified(body)
        : authenticate(body, signature, secrets, strict);
    // Without the option, readMessage rejects unknown types.
    const message = readMessage(verification.rawBody, options) as Message;
    const key =
      dedupe && dedupeKey(message, verification.rawBody, scopeOf(progress, verification.secretIndex));
    if (events === undefined) return { webhook: { ...verification, message }, key };
    const validated = await validateEvent(message, events, options.invalidEvents);
    const { issues } = validated;
    return {
      webhook: { ...verification, message: validated.message, ...(issues && { issues }) },
      key,
    };
  }

  async function accept(
    webhook: VerifiedWebhook<Message>,
    key: string | undefined,
    request: TRequest,
  ): Promise<Received<Message>> {
    const settle = settleIn(dedupe, key);
    try {
      await onVerified?.(webhook, request);
    } catch (error) {
      await settle(500);
      throw error;
    }
    debugVerdict(
      "verified",
      webhook.message.type,
      ` over ${webhook.verifiedOver}, secret ${webhook.secretIndex}`,
    );
    return { verdict: "verified", webhook, settle };
  }

  async function refuse(
    error: WebhookError,
    request: TRequest,
    progress: Progress,
  ): Promise<Received<Message>> {
    const isWarning = onRejected === undefined && options.onError !== "throw" && isWarningDue(error);
    const { explained: refusal, diagnoses } =
      onRejected !== undefined || (isWarning && isCheapToExplain(progress.body?.bytes))
        ? explain(error, progress, retiredSecrets)
        : { explained: error, diagnoses: [] };
    debugRefusal(refusal);
    if (isWarning) warnOfRefusal(refusal);
    const receivedBody = progress.body?.received;
    await onRejected?.(refusal, { request, diagnoses, ...(receivedBody && { receivedBody }) });
    if (options.onError === "throw") throw refusal;
    return { verdict: "rejected", error: refusal, response: toProblem(refusal) };
  }

  return {
    async receive(request) {
      const progress: Progress = { header: headerValue(request.headers, "x-signature") };
      try {
        const { webhook, key } = await verify(request, progress);
        if (dedupe !== undefined && key !== undefined) {
          const claim = checkClaim(await dedupe.claim(key));
          if (claim === "in-flight") throw new WebhookError("ERR_DUPLICATE_IN_FLIGHT");
          if (claim === "done") {
            debugVerdict("duplicate", webhook.message.type, "");
            return { verdict: "duplicate", webhook, response: ALREADY_HANDLED };
          }
        }
        return await accept(webhook, key, request.request);
      } catch (error) {
        if (!(error instanceof WebhookError)) throw error;
        return refuse(error, request.request, progress);
      }
    },
  };
}

/** What is known about a request so far. The hooks get it, whichever check rejects the request. */
interface Progress {
  readonly header: string | undefined;
  signature?: string;
  secrets?: readonly string[];
  /** Set where a secret function found the secrets: the tenant it named, if it did. */
  tenant?: { readonly name: string | undefined };
  body?: ReadBody;
}

async function findSecrets<TRequest>(
  secret: SecretFunction<TRequest>,
  request: TRequest,
  progress: Progress,
): Promise<void> {
  const result = await secret(request);
  const named = typeof result === "object" && result !== null && "tenant" in result;
  if (named && (typeof result.tenant !== "string" || result.tenant === "")) {
    throw new TypeError("The secret function must return the tenant as a non-empty string.");
  }
  const found = named ? result.secret : result;
  if (found == null || found.length === 0) {
    throw new WebhookError("ERR_SIGNATURE_MISMATCH", {
      hint: "The secret function returned no secret for this request.",
    });
  }
  progress.secrets = usableSecrets(found);
  progress.tenant = { name: named ? result.tenant : undefined };
}

function unverified({ bytes, received }: ReadBody): ReturnType<typeof authenticate> {
  return {
    rawBody: bytes,
    receivedBody: received,
    signature: undefined,
    secretIndex: -1,
    verifiedOver: "none",
  };
}

function scopeOf({ tenant, secrets }: Progress, secretIndex: number): DedupeScope {
  if (tenant === undefined) return { by: "none" };
  if (tenant.name !== undefined) return { by: "tenant", tenant: tenant.name };
  return { by: "secret", secret: secrets?.[secretIndex] ?? "" };
}

/** A store is someone else's code, and one that answers `true` must not run a handler twice. */
function checkClaim(claim: unknown): unknown {
  if (claim === "new" || claim === "in-flight" || claim === "done") return claim;
  throw new TypeError(
    `The dedupe store's claim() must return "new", "in-flight" or "done", but returned ${String(claim)}.`,
  );
}

/** Tells a store how the app answered a delivery; see {@link Received}. */
function settleIn(
  dedupe: DedupeStore | undefined,
  key: string | undefined,
): (status: number) => Promise<void> {
  return async (status) => {
    if (dedupe === undefined || key === undefined) return;
    try {
      await (status >= 200 && status < 300 ? dedupe.commit(key) : dedupe.release(key));
    } catch (error) {
      emitWarning(
        `The dedupe store failed after the webhook was handled: ${String(error)}`,
        "COUNTERSIGN_DEDUPE",
      );
    }
  };
}
