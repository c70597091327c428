/**
 * What can be made to go wrong with a delivery, on demand, so that a receiver's handling of it can be tested.
 *
 * | fault | what the receiver sees |
 * |---|---|
 * | `bad_signature` | a well-formed `X-Signature` that does not match |
 * | `missing_signature` | no `X-Signature` |
 * | `stale_secret` | a signature made with a secret the receiver no longer holds: the text of `STALE_SECRET` |
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
export const faults: readonly Fault[] = [
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

/** Whether a value names a {@link Fault}. */
export function isFault(value: unknown): value is Fault {
  return faults.some((fault) => fault === value);
}
