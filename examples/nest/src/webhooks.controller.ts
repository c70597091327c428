import type { WebhookMessage } from "@countersign/core";
import { VerifyWebhook, Webhook } from "@countersign/nestjs";
import { Controller, HttpCode, Inject, Post } from "@nestjs/common";
import { WebhooksService } from "./webhooks.service.ts";

/** The verified route: `POST /webhooks`. */
@Controller("webhooks")
export class WebhooksController {
  readonly #service: WebhooksService;

  constructor(@Inject(WebhooksService) service: WebhooksService) {
    this.#service = service;
  }

  /** Runs only for authentic, well-formed messages. What the service throws is a 500, and the message comes again. */
  @Post()
  @HttpCode(204)
  @VerifyWebhook()
  receive(@Webhook("message") message: WebhookMessage): void {
    this.#service.record(message);
  }
}
