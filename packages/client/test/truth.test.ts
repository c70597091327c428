import {
  Analytics,
  type Counts,
  type Outcome,
  type Receipt,
  type RetryOptions,
  type WhenFull,
} from "@countersign/client";
import {
  memoryTransport,
  virtualClock,
  type MemoryTransport,
  type Reply,
  type SentBatch,
  type VirtualClock,
} from "@countersign/client/testing";
import * as fc from "fast-check";
import { assert, expect, it } from "vitest";

// The whole of what the client says, against the whole of what the service has: receipts, counts and hooks.

type Fault =
  | { readonly kind: "none" }
  | { readonly kind: "lost-request" }
  | { readonly kind: "lost-answer" }
  | { readonly kind: "refused-connection" }
  | { readonly kind: "hang"; readonly stored: boolean }
  | {
      readonly kind: "status";
      readonly status: number;
      readonly stored: boolean;
      readonly retryAfter?: string;
    }
  | { readonly kind: "html"; readonly stored: boolean };

const serverError = fc.constantFrom(500, 502, 503, 504);
const fault: fc.Arbitrary<Fault> = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Fault>({ kind: "none" }) },
  fc.constantFrom<Fault>({ kind: "lost-request" }, { kind: "lost-answer" }, { kind: "refused-connection" }),
  fc.record({ kind: fc.constant("hang" as const), stored: fc.boolean() }),
  fc.record({ kind: fc.constant("html" as const), stored: fc.boolean() }),
  fc.record({ kind: fc.constant("status" as const), status: serverError, stored: fc.boolean() }),
  fc.record({
    kind: fc.constant("status" as const),
    status: fc.constantFrom(408, 429),
    stored: fc.constant(false),
    retryAfter: fc.constantFrom("0", "3", "Thu, 01 Jan 2026 00:01:00 GMT", "soon"),
  }),
  fc.record({
    kind: fc.constant("status" as const),
    status: fc.constantFrom(301, 401, 403, 404, 422),
    stored: fc.constant(false),
  }),
);

type Step =
  | { readonly kind: "record"; readonly fate: "good" | "poison" | "screened"; readonly bytes: number }
  | { readonly kind: "advance"; readonly milliseconds: number }
  | { readonly kind: "flush"; readonly deadline: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("record" as const),
      fate: fc.constantFrom("good", "good", "good", "good", "good", "good", "good", "poison", "screened"),
      bytes: fc.constantFrom(0, 10, 5_000, 30_000),
    }),
  },
  fc.record({ kind: fc.constant("advance" as const), milliseconds: fc.integer({ min: 0, max: 20_000 }) }),
  fc.record({ kind: fc.constant("flush" as const), deadline: fc.integer({ min: 0, max: 5_000 }) }),
);

interface World {
  readonly flushAt: number;
  readonly maxInFlight: number;
  readonly maxQueueSize: number;
  readonly maxQueueBytes: number;
  readonly whenFull: WhenFull;
  readonly retry: RetryOptions;
  readonly faults: readonly Fault[];
  readonly steps: readonly Step[];
  readonly closeAfter: number | undefined;
  readonly tooMany: number;
}

const world: fc.Arbitrary<World> = fc.record({
  flushAt: fc.constantFrom(1, 2, 3, 7),
  maxInFlight: fc.integer({ min: 1, max: 3 }),
  maxQueueSize: fc.integer({ min: 1, max: 12 }),
  maxQueueBytes: fc.constantFrom(65_792, 100_000, 1_000_000),
  whenFull: fc.constantFrom<WhenFull>("drop-newest", "drop-oldest", "wait"),
  retry: fc.record({
    giveUpAfter: fc.constantFrom(0, 500, 2_500, 10_000),
    minDelay: fc.constantFrom(1, 500),
  }),
  faults: fc.array(fault, { maxLength: 12 }),
  steps: fc.array(step, { minLength: 1, maxLength: 25 }),
  closeAfter: fc.option(fc.integer({ min: 0, max: 30_000 }), { nil: undefined }),
  tooMany: fc.constantFrom(2, 5, 100),
});

const isPoison = (id: string): boolean => id.startsWith("poison");

/** What a service under this fault does with a batch, when nothing else is wrong with the batch. */
function replyTo(fault: Fault, store: () => void): Reply {
  if (fault.kind === "none") return {};
  if (fault.kind === "lost-request") return new Error("socket hang up");
  if (fault.kind === "refused-connection")
    return Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
  if (fault.kind === "lost-answer") {
    store();
    return new Error("socket hang up");
  }
  if (fault.kind === "hang") {
    if (fault.stored) store();
    return "hang";
  }
  if (fault.kind === "html") return { body: "<html>Sign in to the Wi-Fi</html>", stored: fault.stored };
  const headers = fault.retryAfter === undefined ? {} : { "retry-after": fault.retryAfter };
  return { status: fault.status, stored: fault.stored, headers };
}

/** Whether an answer to this fault leaves open if the batch was stored. */
function isUnclear(fault: Fault): boolean {
  if (fault.kind === "status") return fault.status >= 500;
  return fault.kind !== "none" && fault.kind !== "refused-connection";
}

interface Told {
  readonly service: MemoryTransport;
  readonly clock: VirtualClock;
  readonly analytics: Analytics;
  /** Messages the service kept although it did not say so. */
  readonly keptInSecret: Set<string>;
  /** Messages that were in a request without a clear answer. */
  readonly unclear: Set<string>;
  /** What the hooks were told. */
  readonly hooks: Map<string, Outcome>;
}

function createWorld({ faults, steps: _steps, closeAfter: _closeAfter, tooMany, ...options }: World): Told {
  const clock = virtualClock();
  const service = memoryTransport();
  const keptInSecret = new Set<string>();
  const unclear = new Set<string>();
  const bodies = new Map<string, string>();
  const script = [...faults];
  service.replyAlways((batch: SentBatch): Reply => {
    for (const message of batch.batch) {
      const json = JSON.stringify(message);
      assert.equal(bodies.get(message.messageId) ?? json, json, "a retry changed the message");
      bodies.set(message.messageId, json);
    }
    const ids = batch.batch.map((message) => message.messageId);
    const fault = script.shift() ?? { kind: "none" };
    if (isUnclear(fault)) for (const id of ids) unclear.add(id);
    // The service refuses a batch as a whole for one bad message, and keeps nothing of it.
    const refusal = ids.some(isPoison) ? 400 : ids.length > tooMany ? 413 : undefined;
    if (refusal === undefined) return replyTo(fault, () => ids.forEach((id) => keptInSecret.add(id)));
    const reply = fault.kind === "none" ? { status: refusal } : replyTo(fault, () => {});
    return reply instanceof Error || reply === "hang" ? reply : { ...reply, stored: false };
  });

  const hooks = new Map<string, Outcome>();
  const tell = ({ messageId, outcome }: { messageId: string; outcome: Outcome }): void => {
    assert.isFalse(hooks.has(messageId), "a hook was told twice");
    hooks.set(messageId, outcome);
  };
  const analytics = new Analytics("KEY", {
    ...options,
    clock,
    transport: service,
    random: () => 0.5,
    requestTimeout: 2_000,
    // A copy of what it got, or nothing.
    beforeSend: (message) => (message.messageId.startsWith("screened") ? null : { ...message }),
    onDrop: tell,
    onReject: tell,
  });
  return { service, clock, analytics, keptInSecret, unclear, hooks };
}

/** Records, advances and flushes; the counts must add up at every step. */
async function play({ analytics, clock }: Told, { steps, closeAfter }: World): Promise<[Receipt[], Counts]> {
  const receipts: Receipt[] = [];
  const addUp = ({ delivered, failed, dropped, pending }: Counts): void => {
    assert.equal(delivered + failed + dropped + pending, receipts.length);
  };
  for (const step of steps) {
    if (step.kind === "advance") await clock.advance(step.milliseconds);
    if (step.kind === "record") {
      const messageId = `${step.fate}-${receipts.length}`;
      receipts.push(analytics.identify({ userId: "u1", messageId, traits: { bio: "x".repeat(step.bytes) } }));
    }
    if (step.kind === "flush") {
      let done = false;
      const flushed = analytics.flush(step.deadline).finally(() => (done = true));
      await clock.advance(step.deadline);
      assert.isTrue(done, "flush() missed its deadline");
      addUp(await flushed);
    }
    addUp(analytics.counts);
  }
  const closing = analytics.close(closeAfter);
  await clock.advance(closeAfter ?? 3_600_000);
  return [receipts, await closing];
}

/** Where a receipt and the service disagree. */
function lieOf(
  { messageId, outcome }: Receipt,
  { service, keptInSecret, unclear, hooks }: Told,
): string | undefined {
  const stored = keptInSecret.has(messageId) || service.messages.some((each) => each.messageId === messageId);
  if (outcome === undefined) return `${messageId} never ended`;
  const isScreened = outcome.status === "dropped" && outcome.reason === "before-send";
  if (isScreened !== messageId.startsWith("screened")) return `${messageId}: not what beforeSend said`;
  const told = outcome.status === "delivered" || isScreened ? undefined : outcome;
  if (hooks.get(messageId) !== told) return `${messageId}: wrong hook`;
  if (outcome.status === "delivered") return stored ? undefined : `${messageId} delivered, but not stored`;
  if (!outcome.mayBeStored)
    return stored ? `${messageId} ${outcome.status} for certain, but stored` : undefined;
  return unclear.has(messageId)
    ? undefined
    : `${messageId} ${outcome.status} maybe, but every answer was clear`;
}

it(
  "receipts, counts and hooks say what the service has, under random faults",
  { timeout: 180_000 },
  async () => {
    const seen = new Set<string>();
    const property = fc.asyncProperty(world, async (world) => {
      const told = createWorld(world);
      const [receipts, counts] = await play(told, world);

      const lies = receipts.map((receipt) => lieOf(receipt, told)).filter((lie) => lie !== undefined);
      assert.deepEqual(lies, []);
      const outcomes = receipts.map((receipt) => receipt.outcome);
      const count = (status: string): number =>
        outcomes.filter((outcome) => outcome?.status === status).length;
      assert.deepEqual(counts, {
        delivered: count("delivered"),
        failed: count("rejected"),
        dropped: count("dropped"),
        pending: 0,
      });
      assert.equal(told.clock.scheduled, 0, "a timer was left");
      for (const outcome of outcomes) {
        if (outcome?.status === "delivered") seen.add("delivered");
        else if (outcome) seen.add(`${outcome.status} ${outcome.reason} ${outcome.mayBeStored}`);
      }
    });
    await fc.assert(property, { numRuns: 2_000 });

    // The faults did happen: a run in which everything is delivered would prove little.
    const both = [
      "rejected bad-request",
      "rejected unauthorized",
      "dropped retries-exhausted",
      "dropped deadline",
    ];
    const expected = [
      "delivered",
      "dropped before-send false",
      "dropped queue-full false",
      ...both.flatMap((end) => [`${end} false`, `${end} true`]),
    ];
    expect([...seen]).toEqual(expect.arrayContaining(expected));
  },
);
