import type { WebhookMessage } from "@countersign/core";
import { Injectable } from "@nestjs/common";

/** What the app does with a message. */
@Injectable()
export class WebhooksService {
  record(message: WebhookMessage): void {
    if (message.type === "track") console.log(`track ${message.event}`);
    else if (message.type === "identify") console.log(`identify ${JSON.stringify(message.traits ?? {})}`);
    else console.log(`${message.type} of ${message.userId ?? "someone unknown"}`);
  }
}
