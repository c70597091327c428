import { sign } from "@countersign/core";
import type { AttemptRequest } from "../transport/transport.ts";
import type { Fault } from "./fault.ts";

/**
 * What the fault `stale_secret` signs with. A receiver that is given it as its second secret shows that it takes
 * messages of before a rotation; any other shows that it refuses them.
 */
export const STALE_SECRET = "a-secret-no-longer-in-use";

// Receivers of this project take bodies of up to 1 MiB by default; other frameworks' parsers take less.
const OVERSIZE_BYTES = 1_048_576 + 1_024;

/** What a fault needs to know of the destination. */
export interface FaultContext {
  /** The destination's shared secret, if it has one. */
  readonly secret?: string | undefined;
  /** The secret that `stale_secret` signs with. Default: {@link STALE_SECRET}. */
  readonly staleSecret?: string | undefined;
}

/**
 * The request as a fault changes it. The faults that are made on the wire, and those that concern more than one
 * attempt, are only marked on it: see `isWireFault`, {@link copiesOf} and {@link holdBackMs}.
 *
 * Pure: the same request, fault and secret give the same bytes.
 */
export function applyFault(
  request: AttemptRequest,
  fault: Fault,
  context: FaultContext = {},
): AttemptRequest {
  return { ...changes[fault](request, context), fault };
}

type Change = (request: AttemptRequest, context: FaultContext) => AttemptRequest;

const unchanged: Change = (request) => request;

const changes: Readonly<Record<Fault, Change>> = {
  bad_signature: (request) => withSignature(request, mismatching(signatureOf(request))),
  missing_signature: (request) => withSignature(request, undefined),
  stale_secret: (request, { staleSecret = STALE_SECRET }) =>
    withSignature(request, sign(request.body, staleSecret)),
  oversize: (request, { secret }) => oversized(request, secret),
  duplicate: unchanged,
  reorder: unchanged,
  slow_body: unchanged,
  truncated: unchanged,
  reset: unchanged,
};

/** How many attempts each endpoint gets in a round: two under `duplicate`, else one. */
export function copiesOf(fault: Fault | undefined): number {
  return fault === "duplicate" ? 2 : 1;
}

/**
 * How long a delivery is held back before its first attempt, in milliseconds of the sender's clock: half a second to
 * a second under `reorder`, so that what is accepted meanwhile arrives before it, and several held back change their
 * order among themselves. Else 0.
 *
 * @param random Gives a number from 0 to below 1, as `Math.random` does.
 */
export function holdBackMs(fault: Fault | undefined, random: () => number): number {
  return fault === "reorder" ? 500 + Math.floor(random() * 500) : 0;
}

function signatureOf(request: AttemptRequest): string | undefined {
  return Object.entries(request.headers).find(([name]) => isSignature(name))?.[1];
}

function withSignature(request: AttemptRequest, signature: string | undefined): AttemptRequest {
  const others = Object.entries(request.headers).filter(([name]) => !isSignature(name));
  const headers = Object.fromEntries(others);
  return {
    ...request,
    headers: signature === undefined ? headers : { ...headers, "X-Signature": signature },
  };
}

function isSignature(name: string): boolean {
  return name.toLowerCase() === "x-signature";
}

/** Well-formed and wrong: the first digit is another one. */
function mismatching(signature = "0".repeat(40)): string {
  const digit = Number.parseInt(signature.slice(0, 1), 16);
  return (digit ^ 1).toString(16) + signature.slice(1);
}

/** White space after a JSON text leaves the message what it is. */
function oversized(request: AttemptRequest, secret: string | undefined): AttemptRequest {
  const body = new Uint8Array(Math.max(OVERSIZE_BYTES, request.body.length)).fill(0x20);
  body.set(request.body);
  return withSignature({ ...request, body }, secret === undefined ? undefined : sign(body, secret));
}
