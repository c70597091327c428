import type {
  ReceivedMessage,
  ReceiverOptions,
  RejectedRequest,
  SecretFunction,
  Secrets,
  VerifiedWebhook,
  WebhookError,
  WebhookMessage,
} from "@countersign/core";

type Functions = "secret" | "onVerified" | "onRejected";

/** Options of a handler: those of every receiver, whose functions get the platform's second argument, too. */
export interface HandlerOptions<
  TRequest,
  Context = unknown,
  Message extends ReceivedMessage = WebhookMessage,
> extends Omit<ReceiverOptions<TRequest, Message>, Functions> {
  /**
   * The shared secret, a list of secrets any of which may match, or a function that finds them. Default: the environment
   * variable `WEBHOOK_SECRET`.
   */
  readonly secret?:
    | Secrets
    | ((request: TRequest, context: Context) => ReturnType<SecretFunction<TRequest>>)
    | undefined;
  /** Runs for every accepted message, before the handler. If it throws, the request fails. */
  readonly onVerified?:
    | ((webhook: VerifiedWebhook<Message>, request: TRequest, context: Context) => void | Promise<void>)
    | undefined;
  /**
   * Runs for every rejected request: for logs and metrics. If it throws, the request fails. Default: on Node, Bun and Deno, a
   * process warning, as every receiver emits it.
   */
  readonly onRejected?:
    | ((error: WebhookError, rejected: RejectedRequest<TRequest>, context: Context) => void | Promise<void>)
    | undefined;
}

/** A request, and what the platform passes with it. */
export interface Call<TRequest, Context> {
  readonly request: TRequest;
  readonly context: Context;
}

/** The options as the receiver takes them: its functions are given one value for a request. */
export function withContext<TRequest, Context, Message extends ReceivedMessage>(
  options: HandlerOptions<TRequest, Context, Message>,
): ReceiverOptions<Call<TRequest, Context>, Message> {
  // The receiver refuses what is not an object, or has no function where there must be one.
  if (typeof options !== "object" || options === null) return options;
  const { secret, onVerified, onRejected } = options;
  return {
    ...options,
    ...(typeof secret === "function" && {
      secret: ({ request, context }: Call<TRequest, Context>) => secret(request, context),
    }),
    ...(typeof onVerified === "function" && {
      onVerified: (webhook: VerifiedWebhook<Message>, { request, context }: Call<TRequest, Context>) =>
        onVerified(webhook, request, context),
    }),
    ...(typeof onRejected === "function" && {
      onRejected: (error: WebhookError, rejected: RejectedRequest<Call<TRequest, Context>>) => {
        const { request, context } = rejected.request;
        return onRejected(error, { ...rejected, request }, context);
      },
    }),
  } as ReceiverOptions<Call<TRequest, Context>, Message>;
}
