import { CallError, StoreError, type Sender } from "@countersign/sender";
import { messageOf } from "../errors/server-error.ts";
import { StoreFullError, type Acceptance } from "../ingest/ingest.ts";
import { rejection } from "../ingest/interpret-request.ts";
import type { IngestedCall } from "../ingest/normalize-call.ts";
import type { Rejection } from "../ingest/rejection-reasons.ts";
import type { Ledger } from "./ledger.ts";

/** Takes the calls of one request for a source. */
export type AcceptCalls = (source: string, calls: readonly IngestedCall[]) => Promise<Acceptance>;

/** Calls that are checked and stored together. */
const CALLS_AT_ONCE = 100;

/**
 * Creates the function that stores each call once, however often its client sends it.
 *
 * The order is: the sender stores the call, the ledger remembers its `messageId`, the client is answered. A crash in between
 * can make a retried call go out twice, which receivers must bear anyway; it cannot lose one that was answered.
 *
 * The returned function rejects when any of its calls could not be stored. The parts before are remembered, so that the
 * client's retry of the whole batch repeats none of them. Calls of one part are stored together or not at all.
 */
export function createAcceptCalls(sender: Sender, ledger: Ledger, now: () => number): AcceptCalls {
  /** Calls that another request, or an earlier message of the same batch, is storing right now. */
  const underWay = new Map<string, Promise<boolean>>();

  return async (source, calls) => {
    let accepted = 0;
    let duplicates = 0;
    const refused: Rejection[] = [];
    // A part at a time, so that a large batch never holds the event loop for long.
    for (let start = 0; start < calls.length; start += CALLS_AT_ONCE) {
      const part = await acceptPart(source, calls.slice(start, start + CALLS_AT_ONCE));
      accepted += part.accepted;
      duplicates += part.duplicates;
      refused.push(...part.refused);
    }
    return { accepted, duplicates, refused };
  };

  async function acceptPart(source: string, calls: readonly IngestedCall[]): Promise<Acceptance> {
    if (!ledger.hasRoom(now())) throw new StoreFullError("The memory for repeats is full.");
    const { fresh, repeats } = sort(source, calls, seenOf(source, calls));
    const outcomes = await store(source, fresh);
    const failure = outcomes.find((outcome) => outcome.kind === "failed");
    const storedElsewhere = await Promise.all(repeats);
    if (failure) throw isFull(failure.error) ? new StoreFullError(messageOf(failure.error)) : failure.error;
    if (storedElsewhere.includes(false))
      throw new Error("The other request with the same message could not store it.");
    const refused = outcomes.flatMap((outcome) => (outcome.kind === "refused" ? [outcome.rejection] : []));
    return { accepted: fresh.length - refused.length, duplicates: calls.length - fresh.length, refused };
  }

  /** Asked before anything is claimed: if the ledger fails, no claim is left that others would wait for. */
  function seenOf(source: string, calls: readonly IngestedCall[]): ReadonlySet<string> {
    const keys = calls.flatMap(({ dedupeKey }) => dedupeKey ?? []);
    return new Set(keys.filter((key) => ledger.hasSeen({ source, key }, now())));
  }

  function sort(source: string, calls: readonly IngestedCall[], seen: ReadonlySet<string>): Sorted {
    const fresh: Fresh[] = [];
    const repeats: Promise<boolean>[] = [];
    for (const call of calls) {
      const key = call.dedupeKey;
      if (key === undefined) {
        fresh.push({ call, settle: () => {} });
        continue;
      }
      const id = JSON.stringify([source, key]);
      const elsewhere = underWay.get(id);
      if (elsewhere) repeats.push(elsewhere);
      else if (seen.has(key)) repeats.push(Promise.resolve(true));
      else fresh.push({ call, settle: claim(id) });
    }
    return { fresh, repeats };
  }

  function claim(id: string): (stored: boolean) => void {
    const settlement = new Settlement();
    underWay.set(id, settlement.promise);
    return (stored) => {
      underWay.delete(id);
      settlement.settle(stored);
    };
  }

  /** Stores the calls in one transaction. If the sender refuses one of them, each gets its own transaction. */
  async function store(source: string, fresh: readonly Fresh[]): Promise<readonly Outcome[]> {
    const [first, ...others] = fresh;
    if (!first) return [];
    try {
      await sender.accept(
        fresh.map(({ call: { dedupeKey: _, ...judged } }) => judged),
        { source },
      );
      await remember(source, fresh);
    } catch (error) {
      if (!(error instanceof CallError)) {
        settle(fresh, false);
        return [{ kind: "failed", error }];
      }
      if (others.length > 0) return (await Promise.all(fresh.map((one) => store(source, [one])))).flat();
      // It is the message's fault: trying again would change nothing.
      settle(fresh, true);
      return [
        { kind: "refused", rejection: rejection("refused_by_sender", first.call, { detail: error.message }) },
      ];
    }
    settle(fresh, true);
    return [];
  }

  async function remember(source: string, fresh: readonly Fresh[]): Promise<void> {
    const keys = fresh.flatMap(({ call }) => call.dedupeKey ?? []);
    await Promise.all(keys.map((key) => ledger.remember({ source, key }, now())));
  }
}

function settle(fresh: readonly Fresh[], stored: boolean): void {
  for (const one of fresh) one.settle(stored);
}

function isFull(error: unknown): boolean {
  return error instanceof StoreError && error.code === "ERR_STORE_FULL";
}

interface Fresh {
  readonly call: IngestedCall;
  readonly settle: (stored: boolean) => void;
}

/** A promise that is told its value from outside. */
class Settlement {
  settle!: (stored: boolean) => void;
  readonly promise: Promise<boolean> = new Promise((resolve) => {
    this.settle = resolve;
  });
}

interface Sorted {
  readonly fresh: readonly Fresh[];
  readonly repeats: readonly Promise<boolean>[];
}

/** What went otherwise than well. */
type Outcome =
  | { readonly kind: "refused"; readonly rejection: Rejection }
  | { readonly kind: "failed"; readonly error: unknown };
