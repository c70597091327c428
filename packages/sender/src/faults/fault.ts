/**
 * A fault that can be injected into a delivery, to test how a receiver handles it.
 *
 * | fault | what the receiver sees |
 * |---|---|
 * | `bad_signature` | a well-formed `X-Signature` that does not match |
 * | `missing_signature` | no `X-Signature` |
 * | `stale_secret` | a signature made with a secret that the receiver no longer has: {@link STALE_SECRET} |
 * | `duplicate` | the same message twice |
 * | `reorder` | the message after one that was accepted later |
 * | `slow_body` | the body in small pieces, with pauses |
 * | `truncated` | fewer bytes than `Content-Length` declares, then the end of the connection |
 * | `oversize` | a correctly signed message of more than 1 MiB |
 * | `reset` | a connection destroyed in the middle of the body |
 * | `status:503` | nothing: the attempt ends as if it had answered 503. Any status from 200 to 599 |
 * | `timeout` | nothing: the attempt ends as if it had not answered in time, at once |
 * | `refused` | nothing: the attempt ends as if it had refused the connection |
 */
export type Fault =
  | "bad_signature"
  | "missing_signature"
  | "stale_secret"
  | "duplicate"
  | "reorder"
  | "slow_body"
  | "truncated"
  | "oversize"
  | "reset"
  | `status:${number}`
  | "timeout"
  | "refused";

/**
 * Every {@link Fault}, in the order of its documentation: for menus, validation and tables. Of the statuses, which are
 * many, it has `status:503`; {@link isFault} knows all of them, and so does {@link FAULT_PATTERN}.
 */
export const FAULTS: readonly Fault[] = [
  "bad_signature",
  "missing_signature",
  "stale_secret",
  "duplicate",
  "reorder",
  "slow_body",
  "truncated",
  "oversize",
  "reset",
  "status:503",
  "timeout",
  "refused",
];

/** A regular expression that every fault's name matches, and nothing else, for schemas. */
export const FAULT_PATTERN: string = `^(?:${[...FAULTS.filter((fault) => !fault.startsWith("status:")), "status:[2-5][0-9]{2}"].join("|")})$`;

/**
 * The secret that the fault `stale_secret` signs with. Give it to a receiver as its second secret to show that it
 * accepts messages from before a rotation.
 */
export const STALE_SECRET = "a-secret-no-longer-in-use";

/** Whether a value names a {@link Fault}. */
export function isFault(value: unknown): value is Fault {
  return typeof value === "string" && IS_FAULT.test(value);
}

const IS_FAULT = new RegExp(FAULT_PATTERN, "u");

/** Selects the deliveries that a fault affects. All given fields must match; without any, it affects any delivery. */
export interface FaultScope {
  /** URL of an endpoint. */
  readonly endpoint?: string | undefined;
  /** Id of a delivery. */
  readonly deliveryId?: string | undefined;
  /** `messageId` of a message. */
  readonly messageId?: string | undefined;
  /** How many attempts it affects; `Infinity` for all until it is cancelled. Default: 1. */
  readonly times?: number | undefined;
}

/** A fault that was injected. */
export interface InjectedFault {
  /** How many more attempts it will affect. */
  readonly remaining: number;
  /** How many attempts it has affected. One that stays at 0 fits no attempt: look at its scope. */
  readonly struck: number;
  /** Cancels it. */
  cancel(): void;
}
