import type { Acceptance, Accepted, NewCall, NewDelivery, NewMessage } from "./delivery-store.ts";
import { isUnknown, StoreError } from "./store-error.ts";

/** A part of an acceptance: some of its calls, with their messages and deliveries. */
export interface AcceptancePart<Key> {
  /** What its calls have in common. */
  readonly key: Key;
  readonly acceptance: Acceptance;
  /** Where each of its calls stands in the whole. */
  readonly positions: readonly number[];
}

interface Part<Key> extends AcceptancePart<Key> {
  readonly acceptance: Acceptance & {
    readonly calls: NewCall[];
    readonly messages: NewMessage[];
    readonly deliveries: NewDelivery[];
  };
  readonly positions: number[];
}

/**
 * Divides what is accepted: calls with the same key go together. Traits go with the calls of their source.
 *
 * @param keyOf The key of a source, or of its call at a position.
 * @throws TypeError when a message names no call of the acceptance, or a delivery no message of it
 */
export function splitAcceptance<Key>(
  { calls, messages, deliveries, traits, uniqueForMs }: Acceptance,
  keyOf: (source: string, position?: number) => Key,
): readonly AcceptancePart<Key>[] {
  const parts = new Map<Key, Part<Key>>();
  const partOf = (key: Key): Part<Key> => {
    const known = parts.get(key);
    if (known !== undefined) return known;
    const empty = { calls: [], messages: [], deliveries: [] };
    const ownTraits = traits !== undefined && keyOf(traits.source) === key ? traits : undefined;
    const part = { key, acceptance: { ...empty, traits: ownTraits, uniqueForMs }, positions: [] };
    parts.set(key, part);
    return part;
  };
  if (traits !== undefined) partOf(keyOf(traits.source));
  const placedCalls = calls.map((call, position) => {
    const { acceptance, positions } = partOf(keyOf(call.source, position));
    positions.push(position);
    return { acceptance, call: acceptance.calls.push(call) - 1 };
  });
  const placedMessages = messages.map((message, position) => {
    const placed = placedCalls[message.call];
    if (placed === undefined) throw misplaced(`messages[${position}].call`, message.call, "calls", calls);
    const { acceptance, call } = placed;
    return { acceptance, message: acceptance.messages.push({ ...message, call }) - 1 };
  });
  for (const [position, delivery] of deliveries.entries()) {
    const { message } = delivery;
    const placed = placedMessages[message];
    if (placed === undefined)
      throw misplaced(`deliveries[${position}].message`, message, "messages", messages);
    placed.acceptance.deliveries.push({ ...delivery, message: placed.message });
  }
  return [...parts.values()];
}

function misplaced(field: string, position: number, list: string, { length }: readonly unknown[]): TypeError {
  return new TypeError(
    `splitAcceptance(): ${field} is ${position}. It must be a position in \`${list}\`, which has ${length}: count from 0.`,
  );
}

/**
 * Has each part of an acceptance stored by itself.
 *
 * @returns the repeats, by their positions in the whole
 * @throws what the first part failed with, when it is known that no part was stored
 * @throws StoreError `ERR_STORE_UNKNOWN` when a part was stored, or may have been, and another one failed
 */
export async function acceptParts<Key>(
  parts: readonly AcceptancePart<Key>[],
  accept: (part: AcceptancePart<Key>) => Promise<Accepted>,
): Promise<Accepted> {
  const results = await Promise.allSettled(
    parts.map(async (part) => {
      const { repeats } = await accept(part);
      return repeats.map((position) => part.positions[position] ?? -1);
    }),
  );
  const failures = results.flatMap((result) =>
    result.status === "rejected" ? [result.reason as unknown] : [],
  );
  if (failures.length > 0) {
    const isNothingStored = failures.length === parts.length && !failures.some(isUnknown);
    throw isNothingStored ? failures[0] : partlyStored(failures[0]);
  }
  const repeats = results.flatMap((result) => (result.status === "fulfilled" ? result.value : []));
  return { repeats: repeats.toSorted((a, b) => a - b) };
}

function partlyStored(cause: unknown): StoreError {
  return new StoreError(
    "ERR_STORE_UNKNOWN",
    "Calls of some sources were stored, or may have been, and those of others were not. Repeat all with the same ids: this stores the rest.",
    cause,
  );
}
