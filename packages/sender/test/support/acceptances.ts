import type { MessageType } from "@countersign/sender";
import type { Acceptance, NewCall, NewDelivery, NewMessage, StoreContext } from "@countersign/sender/store";
import type { Clock } from "@countersign/protocol";

/** A context of a store of which nothing is asked but the time. */
export function quietContext(clock: Clock): StoreContext {
  const nothing = (): void => {};
  return { clock, ended: nothing, missed: nothing, told: nothing, failed: nothing, stateChanged: nothing };
}

/** A delivery to store, of a message of its own. */
export interface DeliveryToAccept {
  readonly id: string;
  /** `<source>/<destination>`. */
  readonly destination: string;
  readonly acceptedAt: number;
  readonly messageId?: string;
  readonly type?: MessageType;
  readonly identity?: string;
  readonly event?: string;
  readonly key?: string;
}

/** What a store is given to accept these deliveries. */
export function acceptanceOf(deliveries: readonly DeliveryToAccept[]): Acceptance & {
  readonly calls: readonly NewCall[];
  readonly messages: readonly NewMessage[];
  readonly deliveries: readonly NewDelivery[];
} {
  const about = deliveries.map((delivery) => {
    const { id, destination, acceptedAt, messageId = `m-${id}`, type = "track" } = delivery;
    const { identity = `user of ${id}`, event = type === "track" ? id : undefined } = delivery;
    const source = destination.slice(0, destination.indexOf("/"));
    return { source, messageId, type, identity, event, acceptedAt };
  });
  return {
    calls: about.map((call, position) => ({ ...call, key: deliveries[position]?.key, counted: true })),
    messages: about.map((message, call) => {
      const { type, event, identity } = message;
      return { ...message, call, body: Buffer.from(JSON.stringify({ type, event, userId: identity })) };
    }),
    deliveries: deliveries.map(({ id, destination }, message) => ({ id, destination, message })),
  };
}
