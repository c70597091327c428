import { accepted } from "./accepted.ts";
import type * as Awaited from "./awaited.ts";
import { WebhookError } from "../errors.ts";
import type * as Explain from "./explain.ts";
import type { ReceivedMessage, WebhookMessage } from "../messages/messages.ts";
import type { Progress } from "./progress.ts";
import type { Received } from "./received.ts";
import {
  checkOptions,
  configuredSecret,
  DEFAULT_MAX_BODY_BYTES,
  type ReceiverOptions,
} from "./receiver-options.ts";
import { checkHead, headerValue, readBody, type WebhookRequest } from "../request/request.ts";
import { toProblem } from "./response.ts";
import { settleNothing } from "../dedupe/settle.ts";
import { readSignature } from "../verification/signature.ts";
import {
  authenticate,
  readMessage,
  verifiedWebhook,
  type ReadBody,
  type VerifiedWebhook,
} from "../verification/verify-webhook.ts";
import { debugRejection, takeWarning } from "./warnings.ts";

// What only some receivers and some rejections need is loaded by the first that does: all apps load the rest.
let awaited: Promise<typeof Awaited> | undefined;
let explanation: Promise<typeof Explain> | undefined;
// Async: where a bundler has left the other files out, import() may throw at once.
const loadAwaited = async (): Promise<typeof Awaited> => (awaited ??= import("./awaited.ts"));
const loadExplanation = async (): Promise<typeof Explain> => (explanation ??= import("./explain.ts"));

/** Verifies and types requests. Made by {@link createReceiver}. */
export interface Receiver<TRequest = unknown, Message extends ReceivedMessage = WebhookMessage> {
  /**
   * The verdict on a request. Hostile input never makes it reject. It rejects only with an error that the
   * app's own `secret` function, hooks, schemas or dedupe store throw, which is a 500, and, with
   * `onError: "throw"`, with the error of a rejection.
   */
  receive(request: WebhookRequest<TRequest>): Promise<Received<Message>>;
  /**
   * The same with callbacks, for an adapter that need not return a promise. Exactly one of them is called: in the turn in which
   * the body ends, unless a hook, a secret function, a schema, a dedupe store or the cause of a rejection that is reported has
   * to be awaited. Neither may throw.
   */
  decide(
    request: WebhookRequest<TRequest>,
    onVerdict: (received: Received<Message>) => void,
    onError: (error: unknown) => void,
  ): void;
}

/**
 * Creates a receiver. Every adapter calls it; call it yourself to write an adapter for another framework.
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

  /** Reports a rejection with its cause, to the hook or as a process warning, and gives the error with that cause. */
  async function report(error: WebhookError, request: TRequest, progress: Progress): Promise<WebhookError> {
    const { explain, explainWarning } = await loadExplanation();
    const tell = onRejected === undefined ? explainWarning : explain;
    const { explained, diagnoses } = tell(error, progress, retiredSecrets);
    debugRejection(explained);
    const receivedBody = progress.body?.received;
    await onRejected?.(explained, { request, diagnoses, ...(receivedBody && { receivedBody }) });
    return explained;
  }

  function decide(
    request: WebhookRequest<TRequest>,
    onVerdict: (received: Received<Message>) => void,
    onError: (error: unknown) => void,
  ): void {
    const progress: Progress = { header: headerValue(request.headers, "x-signature") };

    const reject = (error: WebhookError): void => {
      if (options.onError === "throw") onError(error);
      else onVerdict({ verdict: "rejected", error, response: toProblem(error) });
    };
    const fail = (error: unknown): void => {
      if (!(error instanceof WebhookError)) return onError(error);
      if (onRejected !== undefined || (options.onError !== "throw" && takeWarning(error))) {
        report(error, request.request, progress).then(reject, onError);
      } else {
        debugRejection(error);
        reject(error);
      }
    };
    const onBody = (error: unknown, body?: ReadBody): void => {
      if (body === undefined) return fail(error);
      let webhook: VerifiedWebhook<Message>;
      try {
        webhook = verify(body, progress);
      } catch (thrown) {
        return fail(error ?? thrown);
      }
      if (isImmediate) onVerdict(accepted(webhook, settleNothing));
      else
        loadAwaited()
          .then(({ accept }) => accept(webhook, request.request, progress, options))
          .then(onVerdict, fail);
    };
    const read = (): void => readBody(request.body, { maxBytes, strict }, onBody);

    try {
      checkBefore(request, progress);
    } catch (error) {
      return fail(error);
    }
    if (typeof secret === "function")
      loadAwaited()
        .then(({ findSecrets }) => findSecrets(secret, request.request, progress))
        .then(read, fail);
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
