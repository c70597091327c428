import type { Acceptance, NewCall, NewDelivery, NewMessage } from "@countersign/sender/store";

/** The part of an acceptance that belongs to one source. */
export interface SourcePart {
  readonly source: string;
  readonly acceptance: Acceptance;
  /** For each call of the part, its position in the whole. */
  readonly calls: readonly number[];
}

interface Part {
  readonly calls: NewCall[];
  readonly messages: NewMessage[];
  readonly deliveries: NewDelivery[];
  readonly positions: number[];
}

/** An acceptance by source, since no transaction spans two: they may be kept on different machines. */
export function splitBySource(acceptance: Acceptance): readonly SourcePart[] {
  const sources = new Set(acceptance.calls.map(({ source }) => source));
  return [...sources].map((source) => partOf(source, acceptance));
}

function partOf(source: string, acceptance: Acceptance): SourcePart {
  const part: Part = { calls: [], messages: [], deliveries: [], positions: [] };
  const callAt = new Map<number, number>();
  const messageAt = new Map<number, number>();
  acceptance.calls.forEach((call, position) => {
    if (call.source !== source) return;
    callAt.set(position, part.calls.push(call) - 1);
    part.positions.push(position);
  });
  acceptance.messages.forEach((message, position) => {
    const call = callAt.get(message.call);
    if (call !== undefined) messageAt.set(position, part.messages.push({ ...message, call }) - 1);
  });
  for (const delivery of acceptance.deliveries) {
    const message = messageAt.get(delivery.message);
    if (message !== undefined) part.deliveries.push({ ...delivery, message });
  }
  const { positions, ...rest } = part;
  return { source, acceptance: { ...rest, uniqueForMs: acceptance.uniqueForMs }, calls: positions };
}
