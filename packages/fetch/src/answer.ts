import {
  toProblem,
  WebhookError,
  type ReceivedMessage,
  type Receiver,
  type VerifiedWebhook,
  type WebhookRequest,
  type WebhookResponse,
} from "@countersign/core";

/**
 * Answers a request: by `handle` if it is a verified webhook, else by what the receiver says.
 *
 * @throws What `handle` throws, so that the platform answers 5xx. Only a `WebhookError` is answered like a rejection.
 */
export async function answer<TRequest, Message extends ReceivedMessage>(
  receiver: Receiver<TRequest, Message>,
  request: WebhookRequest<TRequest>,
  { onError }: { readonly onError?: "answer" | "throw" | undefined },
  handle: (webhook: VerifiedWebhook<Message>) => Response | Promise<Response>,
): Promise<Response> {
  const received = await receiver.receive(request);
  if (received.verdict !== "verified") return toResponse(received.response);
  let status = 500;
  try {
    const response = await handle(received.webhook);
    assertResponse(response);
    status = response.status;
    return response;
  } catch (error) {
    // The other frameworks know the status of such an error, too.
    if (error instanceof WebhookError && onError !== "throw") return toResponse(toProblem(error));
    throw error;
  } finally {
    await received.settle(status);
  }
}

/** @throws TypeError if the handler is missing. */
export function checkHandler(name: string, handler: unknown): void {
  if (typeof handler !== "function") {
    throw new TypeError(`${name}() needs a handler: ${name}({ secret }, ({ message }) => ...).`);
  }
}

// A status such as 204 must have no body, not even an empty one.
export function toResponse({ status, headers, body }: WebhookResponse): Response {
  return new Response(body === "" ? null : body, { status, headers });
}

// By its status, not its class: a platform's Response need not be this realm's.
function assertResponse(response: Partial<Response> | undefined): void {
  if (typeof response?.status === "number") return;
  throw new TypeError(
    `The webhook's handler must return a Response, but returned ${response === null ? "null" : typeof response}. ` +
      "For no content: new Response(null, { status: 204 }).",
  );
}
