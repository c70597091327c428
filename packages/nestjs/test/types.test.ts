import type { ReceivedMessage, VerifiedWebhook, WebhookMessage } from "@countersign/core";
import { CountersignModule, VerifyWebhook, Webhook } from "@countersign/nestjs";
import { Controller, Post } from "@nestjs/common";
import { expect, it } from "vitest";

@Controller()
@VerifyWebhook()
class Receivers {
  @Post()
  whole(@Webhook() webhook: VerifiedWebhook): string {
    return webhook.message.type;
  }

  field(@Webhook("message") message: WebhookMessage, @Webhook("secretIndex") index: number): number {
    return message.type.length + index;
  }

  wider(@Webhook("message") message: ReceivedMessage, @Webhook() whole: unknown): unknown {
    return message.type === "track" ? whole : undefined;
  }

  wrong(
    // @ts-expect-error the message is no text
    @Webhook("message") message: string,
    // @ts-expect-error the webhook is more than a message
    @Webhook() webhook: WebhookMessage,
    // @ts-expect-error this field does not exist
    @Webhook("mesage") misspelt: unknown,
    // @ts-expect-error the received body may be undefined
    @Webhook("receivedBody") body: Uint8Array,
  ): unknown[] {
    return [message, webhook, misspelt, body];
  }
}

it("a parameter of the wrong type does not compile", () => {
  expect(Receivers).toBeDefined();
});

class Config {
  readonly secret: string = "secret";
}

it("the factory's parameters are those that Nest injects, and its options are checked", () => {
  CountersignModule.registerAsync({ inject: [Config], useFactory: ({ secret }: Config) => ({ secret }) });
  CountersignModule.registerAsync({
    useFactory: async () => ({ secret: (request) => request.headers.host }),
  });
  CountersignModule.register<{ tenant: string }>({ secret: ({ tenant }) => tenant });
  // @ts-expect-error there is no such option
  const wrong = () => CountersignModule.register({ sharedSecret: "secret" });
  expect(wrong).toBeTypeOf("function");
});
