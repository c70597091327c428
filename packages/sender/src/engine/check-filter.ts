import {
  checkOptionNames,
  describeValue,
  ENDPOINT_SYNONYMS,
  EVENT_SYNONYMS,
  type OptionHints,
  type OptionNames,
} from "@countersign/protocol";
import { ATTEMPT_OUTCOMES } from "../delivery/attempt.ts";
import { parseCursor } from "../delivery/cursor.ts";
import { DELIVERY_STATES, MESSAGE_TYPES } from "../delivery/delivery.ts";
import { type DeliveryFilter, MAX_LIMIT } from "../delivery/delivery-filter.ts";
import { SKIP_REASONS, type SkippedFilter } from "../delivery/skipped-call.ts";

const IDENTITY_HINT = "it is called identity here, and is a userId or an anonymousId";
const FILTER_HINTS: OptionHints = {
  userId: IDENTITY_HINT,
  anonymousId: IDENTITY_HINT,
  id: "delivery(id) gives one delivery",
  before: "after takes the cursor of a page, its `next`",
};
const SKIPPED_NAMES: OptionNames<SkippedFilter> = {
  source: true,
  reason: true,
  q: true,
  since: true,
  until: true,
  limit: true,
  after: true,
};
const FILTER_NAMES: OptionNames<DeliveryFilter> = {
  state: true,
  source: true,
  destination: true,
  type: true,
  messageId: true,
  identity: true,
  event: EVENT_SYNONYMS,
  outcome: true,
  status: true,
  endpoint: ENDPOINT_SYNONYMS,
  q: true,
  since: true,
  until: true,
  limit: true,
  after: true,
};

/** What a field of a filter must be. */
interface Kind {
  readonly words: string;
  readonly fits: (value: unknown) => boolean;
  /** Whether it may be a list of several. */
  readonly isList?: true;
}

const text: Kind = { words: "a text", fits: (value) => typeof value === "string" };
const texts: Kind = { words: "a text, or a list of texts", fits: text.fits, isList: true };
const time: Kind = {
  words: "milliseconds since 1970, such as Date.now()",
  fits: (value) => typeof value === "number" && !Number.isNaN(value),
};

/** Every store reads them alike, so none of them has to say what is wrong with a value. */
const KINDS: Readonly<Record<keyof DeliveryFilter | keyof SkippedFilter, Kind>> = {
  state: oneOf(DELIVERY_STATES),
  source: texts,
  destination: texts,
  type: oneOf(MESSAGE_TYPES),
  messageId: texts,
  identity: texts,
  event: texts,
  outcome: oneOf(ATTEMPT_OUTCOMES),
  status: { words: "a whole number, or a list of them", fits: Number.isInteger, isList: true },
  endpoint: texts,
  reason: oneOf(SKIP_REASONS),
  q: text,
  since: time,
  until: time,
  limit: {
    words: `a whole number from 1 to ${MAX_LIMIT}`,
    fits: (value) => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= MAX_LIMIT,
  },
  after: text,
};

/** @throws TypeError when a filter has an unknown field, or a wrong value: it would list what is not meant */
export function checkDeliveryFilter(method: string, filter: DeliveryFilter): void {
  checkOptionNames(`${method}()`, filter, FILTER_NAMES, FILTER_HINTS);
  checkValues((name) => `${method}({ ${name} })`, filter);
}

/** @throws TypeError when `skipped()` is given an unknown field, or a wrong value */
export function checkSkippedFilter(filter: SkippedFilter): void {
  checkOptionNames("skipped()", filter, SKIPPED_NAMES, FILTER_HINTS);
  checkValues((name) => `skipped({ ${name} })`, filter);
}

/** @throws TypeError when a filter for many deliveries is one for a page, or is wrong */
export function checkBulkFilter(method: "clear" | "resend" | "retry", filter: DeliveryFilter): void {
  const page = "it is for pages; this is about every delivery that matches";
  const { after: _, limit: _limit, ...names } = FILTER_NAMES;
  const isWithin = method !== "clear";
  checkOptionNames(isWithin ? `${method}({ filter })` : `${method}()`, filter, names, {
    ...FILTER_HINTS,
    after: page,
    limit: page,
  });
  checkValues((name) => (isWithin ? `${method}({ filter: { ${name} } })` : `${method}({ ${name} })`), filter);
}

function checkValues(what: (name: string) => string, filter: DeliveryFilter | SkippedFilter): void {
  for (const [name, value] of Object.entries(filter) as [keyof typeof KINDS, unknown][]) {
    if (value === undefined) continue;
    const { words, fits, isList } = KINDS[name];
    const values: readonly unknown[] = isList && Array.isArray(value) ? value : [value];
    const wrong = values.findIndex((item) => !fits(item));
    if (wrong === -1) continue;
    throw new TypeError(`${what(name)} must be ${words}, not ${describeValue(values[wrong])}.`);
  }
  if (filter.after !== undefined) parseCursor(filter.after);
}

function oneOf(known: readonly string[]): Kind {
  return {
    words: `one of ${known.join(", ")}, or a list of them`,
    fits: (value) => known.some((name) => name === value),
    isList: true,
  };
}
