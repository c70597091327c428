import fc from "fast-check";
import type { CallType } from "@countersign/client";

/** The limits as the service documents them (spec 2.3, 8), written here once more so that the test does not trust the code. */
const MAX_CALL_BYTES = 32 * 1024;
const MAX_NESTING = 500;
const MAX_ID_LENGTH = 99;

/** A call that a program makes, and what must become of it. */
export interface CallCase {
  readonly type: CallType;
  readonly call: Readonly<Record<string, unknown>>;
  /** Why the client must refuse it; undefined if it must arrive. */
  readonly refusedFor: string | undefined;
  /** The time that must arrive, in milliseconds since 1970; undefined for the time of the call. */
  readonly time: number | undefined;
}

const TYPES: readonly CallType[] = ["identify", "track", "page", "screen", "group", "alias"];

/** Texts of any code units, lone surrogates among them. */
const anyCodeUnits = fc
  .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 12 })
  .map((units) => String.fromCharCode(...units));

const oddText = fc.constantFrom(
  "__proto__",
  "constructor",
  "toString",
  "\ud83d",
  "\udc00\ud800",
  "\u0000",
  "\u2028\u2029",
  "\ufeff",
  "e\u0301",
  "👩‍🚀",
  "</script>",
  '"\\',
  "%00",
  " ",
  "\t\n",
);

const text = fc.oneof(fc.string({ unit: "grapheme" }), fc.string({ unit: "binary" }), anyCodeUnits, oddText);
const name = text.filter((value) => value !== "");

const number = fc.oneof(
  fc.double(),
  fc.integer(),
  fc.constantFrom(-0, 0, 1e21, 1e-7, 5e-324, 2 ** 53, -(2 ** 63), Number.MAX_VALUE, Number.NaN, Infinity),
);

const scalar = fc.oneof(text, number, fc.boolean(), fc.constantFrom(null, undefined, new Date(0)));

/** Objects as JSON.parse makes them, so that `__proto__` is a property of its own, with what only JavaScript has. */
const fields: fc.Arbitrary<Record<string, unknown>> = fc.letrec<{
  value: unknown;
  object: Record<string, unknown>;
}>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    scalar,
    tie("object"),
    fc.array(tie("value"), { maxLength: 4 }),
  ),
  object: fc
    .array(fc.tuple(text, tie("value")), { maxLength: 5 })
    .map((entries) => Object.defineProperties({}, ownProperties(entries))),
})).object;

function ownProperties(entries: readonly (readonly [string, unknown])[]): PropertyDescriptorMap {
  const descriptors = Object.create(null) as PropertyDescriptorMap;
  for (const [key, value] of entries) {
    descriptors[key] = { value, enumerable: true, configurable: true, writable: true };
  }
  return descriptors;
}

interface Time {
  readonly given: unknown;
  readonly time: number | undefined;
  readonly isWrong?: boolean;
}

const EARLIEST = Date.parse("0000-01-01T00:00:00.000Z");
const LATEST = Date.parse("9999-12-31T23:59:59.999Z");

function iso(time: number, offsetMinutes: number, zone: string): string {
  return new Date(time + offsetMinutes * 60_000).toISOString().replace("Z", zone);
}

const someTime = fc.oneof(
  fc.integer({ min: Date.parse("1970-01-01"), max: Date.parse("2100-01-01") }),
  fc.integer({ min: EARLIEST, max: LATEST }),
);
/** Further than an offset from either end, so that the local time has four digits too. */
const innerTime = someTime.map((time) => Math.min(Math.max(time, EARLIEST + 1e8), LATEST - 1e8));

const timestamp: fc.Arbitrary<Time> = fc.oneof(
  fc.constantFrom<Time>({ given: undefined, time: undefined }, { given: null, time: undefined }),
  fc.constantFrom(EARLIEST, LATEST, 0, -1).map((time) => ({ given: new Date(time), time })),
  someTime.map((time) => ({ given: new Date(time), time })),
  someTime.map((time) => ({ given: iso(time, 0, "Z"), time })),
  // Without an offset it is UTC, whatever the machine's time zone.
  someTime.map((time) => ({ given: iso(time, 0, ""), time })),
  fc
    .tuple(
      innerTime,
      fc.constantFrom<readonly [number, string]>(
        [120, "+02"],
        [330, "+0530"],
        [-210, "-03:30"],
        [840, "+14:00"],
      ),
    )
    .map(([time, [offset, zone]]) => ({ given: iso(time, offset, zone), time })),
);

const wrongTimestamp: fc.Arbitrary<Time> = fc
  .constantFrom<unknown>(
    "1",
    "2026-02-30",
    "yesterday",
    "10000-01-01T00:00:00Z",
    "2026-01-01T25:00",
    new Date(Number.NaN),
    0,
    {},
  )
  .map((given) => ({ given, time: undefined, isWrong: true }));

const identity = fc.oneof(
  name.map((userId) => ({ userId })),
  name.map((anonymousId) => ({ anonymousId })),
  fc.record({ userId: name, anonymousId: name }),
  name.map((anonymousId) => ({ userId: null, anonymousId })),
);

const integrations = fc.constantFrom<unknown>(
  undefined,
  null,
  {},
  { All: true },
  { Other: false },
  { Webhooks: { a: 1 } },
);

function ownFields(type: CallType): fc.Arbitrary<Record<string, unknown>> {
  const optional = fc.option(name, { nil: undefined });
  const some = fc.option(fields, { nil: undefined });
  switch (type) {
    case "identify":
      return fc.record({ traits: some });
    case "track":
      return fc.record({ event: name, properties: some });
    case "page":
      return fc.record({ name: optional, category: optional, traits: some, properties: some });
    case "screen":
      return fc.record({ name: optional, category: optional, properties: some });
    case "group":
      return fc.record({ groupId: name, traits: some });
    default:
      return fc.record({ userId: name, previousId: name });
  }
}

/** An id of this length, for the call of this number. */
function messageIdOf(index: number, length: number, filler: string): string {
  const number = index.toString(36).padStart(4, "0");
  return length <= number.length
    ? number.slice(-length)
    : filler.repeat(length).slice(0, length - number.length) + number;
}

const ordinary: fc.Arbitrary<(index: number) => CallCase> = fc
  .constantFrom(...TYPES)
  .chain((type) =>
    fc.tuple(
      fc.constant(type),
      identity,
      ownFields(type),
      timestamp,
      fc.option(fields, { nil: undefined }),
      integrations,
    ),
  )
  .map(([type, who, own, { given, time }, context, selection]) => () => ({
    type,
    call: { ...who, ...own, timestamp: given, context, integrations: selection },
    refusedFor: undefined,
    time,
  }));

const withId: fc.Arbitrary<(index: number) => CallCase> = fc
  .tuple(
    fc.constantFrom(4, 5, 50, 98, 99, 100, 101, 10_000),
    fc.constantFrom("x", "é", "🎉", "\ud800", " ", '"'),
    timestamp,
  )
  .map(([length, filler, { given, time }]) => (index) => ({
    type: "track",
    call: { userId: "u", event: "Id", messageId: messageIdOf(index, length, filler), timestamp: given },
    refusedFor: length > MAX_ID_LENGTH ? "its messageId is too long" : undefined,
    time,
  }));

const wrongTime = wrongTimestamp.map(({ given }) => (): CallCase => ({
  type: "track",
  call: { userId: "u", event: "Time", timestamp: given },
  refusedFor: "its timestamp is none",
  time: undefined,
}));

/** Nesting about the limit; the call is the first level, its properties the second. */
const nested = fc
  .tuple(
    fc.integer({ min: MAX_NESTING - 3, max: MAX_NESTING + 3 }),
    fc.boolean(),
    fc.constantFrom("properties", "context"),
  )
  .map(([levels, inLists, field]) => (): CallCase => {
    let value: unknown = 1;
    for (let level = 0; level < levels - 2; level += 1) value = inLists ? [value] : { a: value };
    return {
      type: "track",
      call: { userId: "u", event: "Nested", [field]: { value } },
      refusedFor: levels > MAX_NESTING ? "it nests too deeply" : undefined,
      time: undefined,
    };
  });

/** Sizes about the limit, to the byte, with what the later steps add within them. */
const large = fc
  .tuple(
    fc.oneof(
      fc.integer({ min: MAX_CALL_BYTES - 90, max: MAX_CALL_BYTES + 3 }),
      fc.integer({ min: MAX_CALL_BYTES - 3, max: MAX_CALL_BYTES + 3 }),
    ),
    fc.constantFrom("x", "é", "🎉", "\ud800", '"', "\u0001", "東"),
    fc.constantFrom<readonly [CallType, string]>(
      ["track", "properties"],
      ["identify", "traits"],
      ["page", "properties"],
      ["track", "context"],
    ),
    fc.constantFrom<unknown>(undefined, { library: { name: "mine" } }),
  )
  .map(([bytes, filler, [type, field], context]) => (index: number): CallCase => {
    const time = Date.parse("2026-01-31T08:30:00.000Z");
    const call = (padding: string): Record<string, unknown> => ({
      messageId: messageIdOf(index, 40, "m"),
      timestamp: new Date(time).toISOString(),
      userId: "u",
      ...(type === "track" && { event: "Large" }),
      ...(context !== undefined && field !== "context" && { context }),
      [field]: { padding },
    });
    const room = bytes - recordedBytes(type, call(""));
    const unit = Buffer.byteLength(JSON.stringify(filler)) - 2;
    const padding = filler.repeat(Math.floor(room / unit)) + "x".repeat(room % unit);
    return {
      type,
      call: call(padding),
      refusedFor: bytes > MAX_CALL_BYTES ? "it is too large" : undefined,
      time,
    };
  });

function recordedBytes(type: CallType, call: object): number {
  return Buffer.byteLength(JSON.stringify({ type, ...call }));
}

/** Calls of every kind, at the edges of every limit. */
export function callCases(count: number, seed: number): CallCase[] {
  const any = fc.oneof(
    { weight: 14, arbitrary: ordinary },
    { weight: 2, arbitrary: withId },
    { weight: 1, arbitrary: wrongTime },
    { weight: 1, arbitrary: nested },
    { weight: 2, arbitrary: large },
  );
  return fc.sample(any, { numRuns: count, seed }).map((make, index) => make(index));
}
