import { CallError, StoreError, type JudgedCall, type Sender } from "@countersign/sender";
import { messageOf } from "@countersign/protocol";
import { StoreFullError, type Acceptance } from "../ingest/ingest.ts";
import type { IngestedCall } from "../ingest/normalize-call.ts";
import { rejection } from "../ingest/rejections.ts";
import type { Ledger } from "./ledger.ts";

/** Takes the calls of one request for a source. */
export type AcceptCalls = (source: string, calls: readonly IngestedCall[]) => Promise<Acceptance>;

/** Calls that are checked and stored together. */
const CALLS_AT_ONCE = 100;

/** For how long a call that comes again is recognised. */
const UNIQUE_FOR = "24h";

const NOTHING: Acceptance = { accepted: 0, duplicates: 0, refused: [] };

/**
 * Creates the function that stores each call once, however often its client sends it. The sender remembers a call's key in the
 * transaction that stores the call, so a call is never remembered and not stored, or stored and not remembered.
 *
 * The returned function rejects when any of its calls could not be stored. The parts before are stored, so that the client's
 * retry of the whole batch repeats none of them. Calls of one part are stored together or not at all.
 *
 * @param ledger Knows what an earlier version accepted in its last 24 hours.
 */
export function createAcceptCalls(
  sender: Pick<Sender, "accept">,
  ledger: Pick<Ledger, "hasSeen">,
  now: () => number,
): AcceptCalls {
  return async (source, calls) => {
    let all = NOTHING;
    // A part at a time, so that a large batch never holds the event loop for long.
    for (let start = 0; start < calls.length; start += CALLS_AT_ONCE) {
      const part = calls.slice(start, start + CALLS_AT_ONCE);
      const fresh = part.filter(({ formerKey: key }) => !(key && ledger.hasSeen({ source, key }, now())));
      const stored = await store(
        source,
        fresh.map(({ call }) => call),
      );
      all = [all, { ...NOTHING, duplicates: part.length - fresh.length }, stored].reduce(sum);
    }
    return all;
  };

  /** Stores the calls in one transaction. If the sender refuses one of them, each gets its own transaction. */
  async function store(source: string, calls: readonly JudgedCall[]): Promise<Acceptance> {
    const [first, ...others] = calls;
    if (!first) return NOTHING;
    try {
      const receipts = await sender.accept(calls, { source, uniqueFor: UNIQUE_FOR });
      const duplicates = receipts.filter(({ repeat }) => repeat === true).length;
      return { accepted: calls.length - duplicates, duplicates, refused: [] };
    } catch (error) {
      if (isFull(error)) throw new StoreFullError(messageOf(error));
      if (!(error instanceof CallError)) throw error;
      if (others.length > 0)
        return (await Promise.all(calls.map((call) => store(source, [call])))).reduce(sum);
      // It is the message's fault: trying again would change nothing.
      const refused = rejection("refused_by_sender", first, { detail: error.message });
      return { ...NOTHING, refused: [refused] };
    }
  }
}

function sum(one: Acceptance, other: Acceptance): Acceptance {
  return {
    accepted: one.accepted + other.accepted,
    duplicates: one.duplicates + other.duplicates,
    refused: [...one.refused, ...other.refused],
  };
}

function isFull(error: unknown): boolean {
  return error instanceof StoreError && error.code === "ERR_STORE_FULL";
}
