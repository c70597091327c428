import { createHmac } from "node:crypto";
import type { Receipt, Sender, TrackCall } from "@countersign/sender";
import { SECRET } from "./messages.ts";

/** How many calls are made before the first of them is waited for. */
const AT_ONCE = 500;

/** The track call of the sender's benches: some 0.55 KB as a message. */
export function orderCompleted(index: number): TrackCall & { userId: string } {
  return {
    userId: `user-${index}`,
    event: "Order Completed",
    properties: {
      orderId: `order-${index}`,
      total: 129.5,
      currency: "EUR",
      items: [
        { sku: "sku-1", price: 99.5, quantity: 1, name: "Something that was bought" },
        { sku: "sku-2", price: 15, quantity: 2, name: "Something else that was bought" },
      ],
      note: "x".repeat(80),
    },
  };
}

/** The message of that call, as a sender without this library would write it. */
export function orderMessage(index: number): object {
  return {
    version: 1,
    type: "track",
    messageId: `message-${index}`,
    ...orderCompleted(index),
    timestamp: new Date().toISOString(),
  };
}

/** A body and the headers that a bare loop posts it with. */
export function signedPost(message: object): { body: string; headers: Record<string, string> } {
  const body = JSON.stringify(message);
  const signature = createHmac("sha1", SECRET).update(body).digest("hex");
  return { body, headers: { "content-type": "application/json", "x-signature": signature } };
}

/** Makes so many calls, some hundred at a time. */
export async function trackMany(
  count: number,
  track: (index: number) => Promise<unknown>,
  atOnce: number = AT_ONCE,
): Promise<void> {
  for (let made = 0; made < count; made += atOnce) {
    const size = Math.min(atOnce, count - made);
    await Promise.all(Array.from({ length: size }, (_, index) => track(made + index)));
  }
}

/** Resolves when the sender has delivered so many messages from now on. */
export function deliveredBy(sender: Sender, count: number): Promise<void> {
  return new Promise((resolve) => {
    let delivered = 0;
    const onDelivered = (): void => {
      delivered += 1;
      if (delivered < count) return;
      sender.off("delivered", onDelivered);
      resolve();
    };
    sender.on("delivered", onDelivered);
  });
}

/** The track call of {@link orderCompleted}, made through a sender. */
export function trackOrder(sender: Sender, index: number): Promise<Receipt> {
  return sender.track(orderCompleted(index));
}
