import type { Acceptance, NewCall, NewDelivery, NewMessage } from "./delivery-store.ts";

/** A part of an acceptance, for one store. */
export interface AcceptancePart<Store> {
  readonly store: Store;
  readonly acceptance: Acceptance;
  /** Where each of its calls stands in the whole. */
  readonly positions: readonly number[];
}

interface Part<Store> extends AcceptancePart<Store> {
  readonly acceptance: Acceptance & {
    readonly calls: NewCall[];
    readonly messages: NewMessage[];
    readonly deliveries: NewDelivery[];
  };
  readonly positions: number[];
}

/** Divides what is accepted by the store of each call's source. Mostly there is one. */
export function splitAcceptance<Store>(
  { calls, messages, deliveries, traits, uniqueForMs }: Acceptance,
  storeOf: (source: string) => Store,
): readonly AcceptancePart<Store>[] {
  const parts = new Map<Store, Part<Store>>();
  const partOf = (source: string): Part<Store> => {
    const store = storeOf(source);
    const known = parts.get(store);
    if (known !== undefined) return known;
    const empty = { calls: [], messages: [], deliveries: [] };
    const ownTraits = traits !== undefined && storeOf(traits.source) === store ? traits : undefined;
    const part = { store, acceptance: { ...empty, traits: ownTraits, uniqueForMs }, positions: [] };
    parts.set(store, part);
    return part;
  };
  if (traits !== undefined) partOf(traits.source);
  const callAt = calls.map((call, position) => {
    const { acceptance, positions } = partOf(call.source);
    positions.push(position);
    return acceptance.calls.push(call) - 1;
  });
  const messageAt = messages.map((message) => {
    const { acceptance } = partOf(message.source);
    return acceptance.messages.push({ ...message, call: callAt[message.call] ?? -1 }) - 1;
  });
  for (const delivery of deliveries) {
    const source = messages[delivery.message]?.source;
    if (source === undefined) throw new TypeError("A delivery names no message.");
    partOf(source).acceptance.deliveries.push({ ...delivery, message: messageAt[delivery.message] ?? -1 });
  }
  return [...parts.values()];
}
