/**
 * What can be made to go wrong with a delivery on demand, to test how a receiver handles it.
 *
 * | fault | what the receiver sees |
 * |---|---|
 * | `bad_signature` | a well-formed `X-Signature` that does not match |
 * | `missing_signature` | no `X-Signature` |
 * | `stale_secret` | a signature made with a secret that the receiver no longer holds: {@link STALE_SECRET} |
 * | `duplicate` | the same message twice |
 * | `reorder` | the message after one that was accepted later |
 * | `slow_body` | the body in small pieces, with pauses |
 * | `truncated` | fewer bytes than `Content-Length` declares, then the end of the connection |
 * | `oversize` | a correctly signed message of more than 1 MiB |
 * | `reset` | a connection destroyed in the middle of the body |
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
  | "reset";

/** Every {@link Fault}, in the order of its documentation: for menus, validation and tables. */
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
];

/**
 * The secret that the fault `stale_secret` signs with. Give it to a receiver as its second secret to show that it
 * accepts messages from before a rotation.
 */
export const STALE_SECRET = "a-secret-no-longer-in-use";

/** Whether a value names a {@link Fault}. */
export function isFault(value: unknown): value is Fault {
  return FAULTS.some((fault) => fault === value);
}

/** Which deliveries a fault strikes. All given fields must match; none given means any delivery. */
export interface FaultScope {
  /** URL of an endpoint. */
  readonly endpoint?: string | undefined;
  readonly deliveryId?: string | undefined;
  readonly messageId?: string | undefined;
  /** How many attempts it strikes; `Infinity` for all until it is cancelled. Default: 1. */
  readonly times?: number | undefined;
}

/** A fault that was injected. */
export interface InjectedFault {
  /** How many more attempts it will strike. */
  readonly remaining: number;
  /** Takes it back. */
  cancel(): void;
}
