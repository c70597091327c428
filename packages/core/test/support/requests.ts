import type { WebhookMessage, WebhookRequest } from "@countersign/core";
import { sampleMessages, signedRequest } from "@countersign/core/testing";

export const SECRET = "secret";

/** What a framework would hand to the hooks. */
export interface AppRequest {
  readonly tenant: string;
}

export interface RequestParts {
  readonly message?: WebhookMessage | Readonly<Record<string, unknown>> | string | Uint8Array;
  readonly signedWith?: string;
  readonly tenant?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: WebhookRequest["body"];
}

/** A request as an adapter makes it, with a correctly signed body in its stream; parts of it can be replaced. */
export function webhookRequest(parts: RequestParts = {}): WebhookRequest<AppRequest> {
  const { message = sampleMessages.track, signedWith = SECRET, tenant = "one" } = parts;
  const { headers, body } = signedRequest(message, signedWith);
  return {
    method: parts.method ?? "POST",
    headers: { ...headers, ...parts.headers },
    body: parts.body ?? { from: "stream", read: () => Promise.resolve(body) },
    request: { tenant },
  };
}
