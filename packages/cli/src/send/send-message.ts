import {
  createSender,
  type Attempt,
  type Delivery,
  type MessageType,
  type ProxyOptions,
  type Receipt,
  type Sender,
} from "@countersign/sender";
import type { SampleCall } from "./sample-call.ts";
import { assertField, SetError } from "./set-field.ts";

/** Where messages go, and how. */
export interface SendTarget extends ProxyOptions {
  /** URL of the receiver. */
  readonly to: string;
  /** Key of the `X-Signature` header. */
  readonly secret?: string | undefined;
  /** Headers of every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Certificate authorities to trust instead of the system's, in PEM. */
  readonly ca?: string | undefined;
}

/** Settings of {@link sendMessage}. */
export interface SendOptions extends SendTarget {
  /** One of the seven types of message. */
  readonly type: MessageType;
  /** The fields of the call; the sender checks them. */
  readonly call: SampleCall;
}

/** The result of sending one message once. */
export interface SentMessage {
  readonly delivery: Delivery;
  readonly attempt: Attempt;
  /** Whether the receiver answered 2xx. */
  readonly ok: boolean;
}

/** Sends messages to one receiver, each once. Made by {@link openSends}. */
export interface Sends {
  /** Sends one message; see {@link sendMessage} for the errors. */
  send(type: MessageType, call: SampleCall): Promise<SentMessage>;
  close(): Promise<void>;
}

/**
 * Sends one message to a receiver, once: a message that is not accepted at the first attempt is reported, not
 * retried.
 *
 * @throws CallError when the call is not valid; SetError when its `integrations` keep it from every receiver.
 * @throws SettingsError if `to` is not a URL to send to, or `secret` is empty.
 * @example
 * ```ts
 * const to = "http://localhost:3000/webhooks";
 * const { ok, attempt } = await sendMessage({ type: "track", call: sampleCall("track"), to, secret: "dev" });
 * if (!ok) console.log(attempt.outcome, attempt.status);
 * ```
 */
export async function sendMessage({ type, call, ...target }: SendOptions): Promise<SentMessage> {
  const sends = await openSends(target);
  try {
    return await sends.send(type, call);
  } finally {
    await sends.close();
  }
}

/** Prepares to send several messages to one receiver. @throws SettingsError as {@link sendMessage}. */
export async function openSends({ to, secret, headers, ca, proxy, noProxy }: SendTarget): Promise<Sends> {
  const sender = await createSender({
    url: to,
    ...(secret !== undefined && { secret }),
    headers,
    ca,
    proxy,
    noProxy,
    // A window without length: the first round is the last one.
    retry: { windowMs: 0, lastRetryMarginMs: 0 },
  });
  return {
    async send(type, call) {
      const receipt = await record(sender, type, call);
      if (receipt.skipped === "integrations") {
        throw new SetError(
          "The `integrations` of this call turn webhooks off, so that it goes to no receiver. Leave them out, or set integrations.Webhooks=true",
        );
      }
      const [delivery] = await receipt.settled();
      const attempt = delivery?.attempts.at(-1);
      if (!delivery || !attempt) throw new Error("The message was accepted but never attempted.");
      return { delivery, attempt, ok: attempt.outcome === "success" };
    },
    close: () => sender.close(),
  };
}

/** The sender checks every field at run time, so the casts claim nothing that is not checked. */
async function record(sender: Sender, type: MessageType, call: SampleCall): Promise<Receipt> {
  if (type !== "delete") return (sender[type] as unknown as (call: SampleCall) => Promise<Receipt>)(call);
  // The sender checks the names in the other calls.
  for (const name of Object.keys(call)) assertField(type, name);
  const { userId, ...options } = call as { userId: string };
  const [receipt] = await sender.deleteUser(userId, options);
  if (!receipt) throw new Error("The deletion was accepted but caused no message.");
  return receipt;
}
