import type { Acceptance, NewCall, NewDelivery, NewMessage } from "@countersign/sender/store";

/** A part of an acceptance: some of its calls, with their messages and deliveries. */
export interface Part {
  readonly acceptance: Acceptance;
  /** For each call of the part, its position in the whole. */
  readonly calls: readonly number[];
}

/** The part of an acceptance that belongs to one source. */
export interface SourcePart extends Part {
  readonly source: string;
}

/** An acceptance by source, since no transaction spans two: they may be kept on different machines. */
export function splitBySource(acceptance: Acceptance): readonly SourcePart[] {
  const { calls } = acceptance;
  const sources = new Set(calls.map(({ source }) => source));
  return [...sources].map((source) => ({
    source,
    ...partOf(acceptance, (position) => calls[position]?.source === source),
  }));
}

/** Calls and deliveries that one command stores: a command that takes longer than the time for an answer never gets one. */
const MOST_AT_ONCE = 10_000;

/** An acceptance in parts that are small enough for one command each: to be stored in one transaction. */
export function splitBySize(acceptance: Acceptance): readonly Part[] {
  const { calls, messages, deliveries } = acceptance;
  const sizes = calls.map(() => 1);
  for (const { message } of deliveries) {
    const call = messages[message]?.call ?? -1;
    if (sizes[call] !== undefined) sizes[call] += 1;
  }
  let [part, size] = [0, 0];
  const partOfCall = sizes.map((more) => {
    if (size > 0 && size + more > MOST_AT_ONCE) [part, size] = [part + 1, 0];
    size += more;
    return part;
  });
  if (part === 0) return [{ acceptance, calls: [...calls.keys()] }];
  return Array.from({ length: part + 1 }, (_, number) =>
    partOf(acceptance, (position) => partOfCall[position] === number),
  );
}

function partOf(acceptance: Acceptance, has: (call: number) => boolean): Part {
  const calls: NewCall[] = [];
  const messages: NewMessage[] = [];
  const deliveries: NewDelivery[] = [];
  const positions: number[] = [];
  const callAt = new Map<number, number>();
  const messageAt = new Map<number, number>();
  acceptance.calls.forEach((call, position) => {
    if (!has(position)) return;
    callAt.set(position, calls.push(call) - 1);
    positions.push(position);
  });
  acceptance.messages.forEach((message, position) => {
    const call = callAt.get(message.call);
    if (call !== undefined) messageAt.set(position, messages.push({ ...message, call }) - 1);
  });
  for (const delivery of acceptance.deliveries) {
    const message = messageAt.get(delivery.message);
    if (message !== undefined) deliveries.push({ ...delivery, message });
  }
  const { uniqueForMs } = acceptance;
  return { acceptance: { calls, messages, deliveries, uniqueForMs }, calls: positions };
}
