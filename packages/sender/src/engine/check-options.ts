import {
  checkOptionNames,
  describeValue,
  isBytes,
  nameKind,
  SOURCES_SYNONYMS,
  WRITE_KEY_SYNONYMS,
  type OptionNames,
} from "@countersign/protocol";
import type { ResendOptions } from "./resend-options.ts";
import type { RetryAll } from "./retry-options.ts";
import type { AcceptOptions, CallOptions, CloseOptions, DeleteOptions } from "./sender.ts";

const CALL_NAMES: OptionNames<CallOptions> = { source: true, writeKey: WRITE_KEY_SYNONYMS };
const DELETE_NAMES: OptionNames<DeleteOptions> = { sources: SOURCES_SYNONYMS, timestamp: true };
const CLOSE_NAMES: OptionNames<CloseOptions> = { deadline: ["timeout timeoutms", "in milliseconds"] };
const ACCEPT_NAMES: OptionNames<AcceptOptions> = { ...CALL_NAMES, uniqueFor: true };
const RETRY_NAMES: OptionNames<RetryAll> = { filter: true, limit: true };

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

/** @throws TypeError when a message cannot be sent again so */
export function checkResendOptions({ body, id, ...others }: ResendOptions): void {
  checkOptionNames("resend()", others, {}, { filter: "resend({ filter }) takes it without an id" });
  if (body !== undefined && typeof body !== "string" && !isBytes(body)) {
    throw new TypeError(`resend({ body }) must be a text or bytes, not ${nameKind(body)}.`);
  }
  if (body !== undefined && Buffer.byteLength(body) > MAX_BODY_BYTES) {
    throw new TypeError(`resend({ body }) must not be longer than ${MAX_BODY_BYTES} bytes.`);
  }
  if (id !== undefined && !(typeof id === "string" && ID.test(id))) {
    throw new TypeError("resend({ id }) must be 1 to 99 letters, digits, hyphens and underscores.");
  }
}

/** @throws TypeError for an option that does not exist, and for a wrong `limit` */
export function checkRetryAll(what: RetryAll): void {
  checkOptionNames("retry()", what, RETRY_NAMES);
  const { limit } = what;
  if (limit === undefined || (Number.isInteger(limit) && limit >= 1)) return;
  throw new TypeError(`retry({ limit }) must be a whole number, at least 1, not ${describeValue(limit)}.`);
}

const MAX_BODY_BYTES = 1_048_576;
const ID = /^[\w-]{1,99}$/u;
