import {
  checkOptionNames,
  describeKind,
  ENDPOINT_SYNONYMS,
  EVENT_SYNONYMS,
  SOURCES_SYNONYMS,
  WRITE_KEY_SYNONYMS,
  type OptionHints,
  type OptionNames,
} from "@countersign/protocol";
import type { DeliveryFilter } from "../delivery/delivery-filter.ts";
import type { SkippedFilter } from "../delivery/skipped-call.ts";
import type { ResendOptions } from "./resend-options.ts";
import type { AcceptOptions, CallOptions, CloseOptions, DeleteOptions } from "./sender.ts";

const CALL_NAMES: OptionNames<CallOptions> = { source: true, writeKey: WRITE_KEY_SYNONYMS };
const DELETE_NAMES: OptionNames<DeleteOptions> = { sources: SOURCES_SYNONYMS, timestamp: true };
const CLOSE_NAMES: OptionNames<CloseOptions> = { deadline: ["timeout timeoutms", "in milliseconds"] };
const ACCEPT_NAMES: OptionNames<AcceptOptions> = { ...CALL_NAMES, uniqueFor: true };
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

/** @throws TypeError when a call is given an unknown option, or a callback, which would never run */
export function checkCallOptions(method: string, options: CallOptions): void {
  if (typeof options === "function") {
    throw new TypeError(
      `${method}() takes no callback. Await the promise that it returns for the receipt, and receipt.settled() for the deliveries.`,
    );
  }
  checkOptionNames(`${method}()`, options, method === "accept" ? ACCEPT_NAMES : CALL_NAMES);
}

/** @throws TypeError when `deleteUser()` is given an unknown option */
export function checkDeleteOptions(options: DeleteOptions): void {
  checkOptionNames("deleteUser()", options, DELETE_NAMES);
}

/** @throws TypeError when `close()` is given an unknown option */
export function checkCloseOptions(options: CloseOptions): void {
  checkOptionNames("close()", options, CLOSE_NAMES);
}

/** @throws TypeError when a filter has an unknown field: it would list what is not meant */
export function checkDeliveryFilter(what: string, filter: DeliveryFilter): void {
  checkOptionNames(what, filter, FILTER_NAMES, FILTER_HINTS);
}

/** @throws TypeError when `skipped()` is given an unknown field */
export function checkSkippedFilter(filter: SkippedFilter): void {
  checkOptionNames("skipped()", filter, SKIPPED_NAMES, FILTER_HINTS);
}

/** @throws TypeError when a filter for many deliveries is one for a page */
export function checkBulkFilter(what: string, filter: DeliveryFilter): void {
  const page = "it is for pages; this is about every delivery that matches";
  const { after: _, limit: _limit, ...names } = FILTER_NAMES;
  checkOptionNames(what, filter, names, { ...FILTER_HINTS, after: page, limit: page });
}

/** @throws TypeError when a message cannot be sent again so */
export function checkResendOptions({ body, id, ...others }: ResendOptions): void {
  checkOptionNames("resend()", others, {}, { filter: "resend({ filter }) takes it without an id" });
  if (body !== undefined && typeof body !== "string" && !(body instanceof Uint8Array)) {
    throw new TypeError(`resend({ body }) must be a text or bytes, not ${describeKind(body)}.`);
  }
  if (body !== undefined && Buffer.byteLength(body) > MAX_BODY_BYTES) {
    throw new TypeError(`resend({ body }) must not be longer than ${MAX_BODY_BYTES} bytes.`);
  }
  if (id !== undefined && !(typeof id === "string" && ID.test(id))) {
    throw new TypeError("resend({ id }) must be 1 to 99 letters, digits, hyphens and underscores.");
  }
}

const MAX_BODY_BYTES = 1_048_576;
const ID = /^[\w-]{1,99}$/u;
