import { setImmediate as nextTurn } from "node:timers/promises";
import { isObject, parseJson } from "@countersign/protocol";
import type { WebhookMessage } from "@countersign/core";
import type { DeliveryFilter } from "../delivery/delivery-filter.ts";
import type { Delivery } from "../delivery/delivery.ts";
import type { Sender } from "../engine/sender.ts";
import type { ExpectedDelivery } from "./expect.ts";

/** Lists deliveries with their messages. Expectations that wait are woken together: what they ask for in one turn is read once. */
export class DeliveryReads {
  readonly #source: Pick<Sender, "deliveries">;
  readonly #asked = new Map<string, Promise<readonly ExpectedDelivery[]>>();

  constructor(source: Pick<Sender, "deliveries">) {
    this.#source = source;
  }

  /** Those that match, oldest first, as they are when this turn of the event loop is over. */
  list(filter: DeliveryFilter): Promise<readonly ExpectedDelivery[]> {
    const key = JSON.stringify(filter);
    const asked = this.#asked.get(key) ?? this.#read(key, filter);
    this.#asked.set(key, asked);
    return asked;
  }

  async #read(key: string, filter: DeliveryFilter): Promise<readonly ExpectedDelivery[]> {
    await nextTurn();
    this.#asked.delete(key);
    const listed = await this.#source.deliveries(filter);
    return listed.toReversed().map(withMessage);
  }
}

/** A delivery with its message. */
export function withMessage(delivery: Delivery): ExpectedDelivery {
  return { ...delivery, message: messageOf(delivery.body) as WebhookMessage };
}

/** The sender made this text from a message, unless it was told to resend other bytes. */
function messageOf(body: Uint8Array): unknown {
  try {
    const value: unknown = parseJson(Buffer.from(body).toString());
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
