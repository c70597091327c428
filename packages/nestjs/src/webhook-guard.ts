import type { ReceivedMessage, Receiver, VerifiedWebhook, WebhookRequest } from "@countersign/core";
import { settleWhenSent, toWebhookRequest, type NodeRequest } from "@countersign/core/node";
import { Inject, Injectable, type CanActivate, type ExecutionContext } from "@nestjs/common";
import type { ServerResponse } from "node:http";
import { WebhookException } from "./webhook-exception.ts";

/** Under which the module provides its receiver. Nest names it if the module is not imported. */
export const WEBHOOK_RECEIVER = "CountersignModule.register()";

const ALREADY_READ =
  "Nest's body parser read the request before the guard, and did not keep the bytes. Keep them: " +
  "NestFactory.create(AppModule, { rawBody: true }).";

/** A request of either platform: Express's is a Node request, Fastify's has one. */
export interface PlatformRequest {
  readonly raw?: NodeRequest;
  rawBody?: unknown;
  body?: unknown;
  webhook?: VerifiedWebhook<ReceivedMessage>;
}

/** A response of either platform. */
type PlatformResponse = ServerResponse & { readonly raw?: ServerResponse };

/**
 * Lets only authentic, well-formed webhooks through (spec 5.1). Mount it with `@VerifyWebhook()`, which adds the filter that
 * answers rejections. The class is exported for `overrideGuard(WebhookGuard)` in tests.
 */
export class WebhookGuard implements CanActivate {
  readonly #receiver: Receiver<PlatformRequest, ReceivedMessage>;

  constructor(receiver: Receiver<PlatformRequest, ReceivedMessage>) {
    this.#receiver = receiver;
  }

  /**
   * Verifies a request, and sets its `webhook` and `body`.
   *
   * @throws WebhookException for a rejection or a repeat; with `onError: "throw"`, the `WebhookError` of a rejection.
   */
  async canActivate(context: ExecutionContext): Promise<true> {
    if (context.getType() !== "http") {
      throw new TypeError(
        `@VerifyWebhook() is for HTTP routes, but the handler is one of ${context.getType()}.`,
      );
    }
    const http = context.switchToHttp();
    const request = http.getRequest<PlatformRequest>();
    const response = http.getResponse<PlatformResponse>();
    const received = await this.#receiver.receive(asWebhookRequest(request));
    if (received.verdict === "rejected") throw new WebhookException(received.response, received.error);
    if (received.verdict === "duplicate") throw new WebhookException(received.response);
    settleWhenSent(received, response.raw ?? response);
    request.webhook = received.webhook;
    request.body = received.webhook.message;
    return true;
  }
}

// Called, not written with @: decorators are not in the JavaScript that this package is published as.
Injectable()(WebhookGuard);
Inject(WEBHOOK_RECEIVER)(WebhookGuard, undefined, 0);

function asWebhookRequest(request: PlatformRequest): WebhookRequest<PlatformRequest> {
  return toWebhookRequest(request.raw ?? (request as NodeRequest), {
    request,
    kept: request,
    verified: request.webhook,
    alreadyReadHint: ALREADY_READ,
  });
}
