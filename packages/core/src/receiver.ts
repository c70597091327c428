import { dedupeKey, type DedupeScope } from "./dedupe-key.ts";
import { WebhookError } from "./errors.ts";
import { validateEvent } from "./events.ts";
import { explain } from "./explain.ts";
import type { ReceivedMessage, WebhookMessage } from "./messages.ts";
import type { Received } from "./received.ts";
import {
  checkOptions,
  configuredSecret,
  DEFAULT_MAX_BODY_BYTES,
  usableSecrets,
  type ReceiverOptions,
  type SecretFunction,
} from "./receiver-options.ts";
import { checkHead, headerValue, readBody, type WebhookRequest } from "./request.ts";
import { ALREADY_HANDLED, toProblem } from "./response.ts";
import { checkClaim, settleIn, settleNothing } from "./settle.ts";
import { readSignature } from "./signature.ts";
import {
  authenticate,
  readMessage,
  verifiedWebhook,
  type ReadBody,
  type VerifiedWebhook,
} from "./verify-webhook.ts";
import { debugRefusal, debugVerdict, isCheapToExplain, isWarningDue, warnOfRefusal } from "./warnings.ts";

/** Verifies and types requests. Made by {@link createReceiver}. */
export interface Receiver<TRequest = unknown, Message extends ReceivedMessage = WebhookMessage> {
  /**
   * The verdict on a request. Hostile input never makes it reject. It rejects with what the app's own `secret` function,
   * hooks, schemas or dedupe store throw, which is a 500, and with `onError: "throw"` with the error of a rejection.
   */
  receive(request: WebhookRequest<TRequest>): Promise<Received<Message>>;
  /**
   * The same with callbacks, for an adapter that need not return a promise. Exactly one of them is called: in the turn in which
   * the body ends, unless a hook, a secret function, a schema or a dedupe store has to be awaited. Neither may throw.
   */
  decide(
    request: WebhookRequest<TRequest>,
    onVerdict: (received: Received<Message>) => void,
    onError: (error: unknown) => void,
  ): void;
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

  // Without any of them, nothing has to be awaited once the body is there.
  const isImmediate = onVerified === undefined && dedupe === undefined && events === undefined;

  /** The checks that need no body. The secrets are there, unless a function has to find them. */
  function checkBefore(request: WebhookRequest<TRequest>, progress: Progress): void {
    checkHead(request, maxBytes);
    if (secret === undefined) return;
    const header = readSignature(progress.header);
    if (!header.ok) throw new WebhookError(header.code);
    progress.signature = header.hex;
    if (typeof secret !== "function") progress.secrets = secret;
  }

  /** The checks of the body. */
  function verify(body: ReadBody, progress: Progress): VerifiedWebhook<Message> {
    progress.body = body;
    const { signature, secrets } = progress;
    const match =
      signature === undefined || secrets === undefined
        ? { covered: body.bytes, secretIndex: -1, verifiedOver: "none" as const }
        : authenticate(body, signature, secrets, strict);
    // Without the option, readMessage rejects unknown types.
    const message = readMessage(match.covered, options) as Message;
    return verifiedWebhook(message, match, body, signature);
  }

  /** What has to be awaited: schemas, the dedupe store, the hook. */
  async function accept(
    verified: VerifiedWebhook<Message>,
    request: TRequest,
    progress: Progress,
  ): Promise<Received<Message>> {
    const key =
      dedupe && dedupeKey(verified.message, verified.rawBody, scopeOf(progress, verified.secretIndex));
    const webhook = await withValidEvent(verified);
    if (dedupe !== undefined && key !== undefined) {
      const claim = checkClaim(await dedupe.claim(key));
      if (claim === "in-flight") throw new WebhookError("ERR_DUPLICATE_IN_FLIGHT");
      if (claim === "done") {
        debugVerdict("duplicate", webhook.message.type, "");
        return { verdict: "duplicate", webhook, response: ALREADY_HANDLED };
      }
    }
    const settle = settleIn(dedupe, key);
    try {
      await onVerified?.(webhook, request);
    } catch (error) {
      await settle(500);
      throw error;
    }
    return accepted(webhook, settle);
  }

  async function withValidEvent(webhook: VerifiedWebhook<Message>): Promise<VerifiedWebhook<Message>> {
    if (events === undefined) return webhook;
    const { message, issues } = await validateEvent(webhook.message, events, options.invalidEvents);
    return { ...webhook, message, ...(issues && { issues }) };
  }

  /** A rejection without a hook that has to be awaited. */
  function refuse(error: WebhookError, progress: Progress): Received<Message> {
    const isWarning = options.onError !== "throw" && isWarningDue(error);
    const refusal =
      isWarning && isCheapToExplain(progress.body?.bytes)
        ? explain(error, progress, retiredSecrets).explained
        : error;
    debugRefusal(refusal);
    if (isWarning) warnOfRefusal(refusal);
    return rejected(refusal);
  }

  async function refuseAloud(
    error: WebhookError,
    request: TRequest,
    progress: Progress,
  ): Promise<Received<Message>> {
    const { explained, diagnoses } = explain(error, progress, retiredSecrets);
    debugRefusal(explained);
    const receivedBody = progress.body?.received;
    await onRejected?.(explained, { request, diagnoses, ...(receivedBody && { receivedBody }) });
    return rejected(explained);
  }

  function rejected(error: WebhookError): Received<Message> {
    if (options.onError === "throw") throw error;
    return { verdict: "rejected", error, response: toProblem(error) };
  }

  function decide(
    request: WebhookRequest<TRequest>,
    onVerdict: (received: Received<Message>) => void,
    onError: (error: unknown) => void,
  ): void {
    const progress: Progress = { header: headerValue(request.headers, "x-signature") };

    const fail = (error: unknown): void => {
      if (!(error instanceof WebhookError)) return onError(error);
      if (onRejected !== undefined) {
        refuseAloud(error, request.request, progress).then(onVerdict, onError);
        return;
      }
      let refusal: Received<Message>;
      try {
        refusal = refuse(error, progress);
      } catch (thrown) {
        return onError(thrown);
      }
      onVerdict(refusal);
    };
    const onBody = (error: unknown, body?: ReadBody): void => {
      if (body === undefined) return fail(error);
      let webhook: VerifiedWebhook<Message>;
      try {
        webhook = verify(body, progress);
      } catch (thrown) {
        return fail(thrown);
      }
      if (isImmediate) onVerdict(accepted(webhook, settleNothing));
      else accept(webhook, request.request, progress).then(onVerdict, fail);
    };
    const read = (): void => readBody(request.body, { maxBytes, strict }, onBody);

    try {
      checkBefore(request, progress);
    } catch (error) {
      return fail(error);
    }
    if (typeof secret === "function") findSecrets(secret, request.request, progress).then(read, fail);
    else read();
  }

  const { instrument } = options;
  const watched: typeof decide =
    instrument === undefined
      ? decide
      : (request, onVerdict, onError) => {
          const observation = instrument.receive(request.headers);
          decide(
            request,
            (received) => observation.decided(received, () => onVerdict(received)),
            (error) => observation.failed(error, () => onError(error)),
          );
        };
  return {
    decide: watched,
    receive: (request) => new Promise((resolve, reject) => watched(request, resolve, reject)),
  };
}

function accepted<Message extends ReceivedMessage>(
  webhook: VerifiedWebhook<Message>,
  settle: (status: number) => Promise<void>,
): Received<Message> {
  const { message, verifiedOver, secretIndex } = webhook;
  debugVerdict("verified", message.type, ` over ${verifiedOver}, secret ${secretIndex}`);
  return { verdict: "verified", webhook, settle };
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

function scopeOf({ tenant, secrets }: Progress, secretIndex: number): DedupeScope {
  if (tenant === undefined) return { by: "none" };
  if (tenant.name !== undefined) return { by: "tenant", tenant: tenant.name };
  return { by: "secret", secret: secrets?.[secretIndex] ?? "" };
}
