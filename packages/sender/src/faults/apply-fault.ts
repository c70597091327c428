import { sign } from "@countersign/core";
import type { AttemptRequest } from "../transport/transport.ts";
import { type Fault, STALE_SECRET } from "./fault.ts";
import type { Outage } from "./outage.ts";
import { writeBodyOf } from "./wire-fault.ts";

// Receivers of this project take bodies of up to 1 MiB by default; other frameworks' parsers take less.
const OVERSIZE_BYTES = 1_048_576 + 1_024;

/**
 * The request as a fault changes it. `duplicate` and `reorder` change nothing in a request: they decide how often and
 * when it is sent.
 *
 * Pure: the same request and fault give the same request.
 */
export function applyFault(request: AttemptRequest, fault: Exclude<Fault, Outage>): AttemptRequest {
  return { ...CHANGES[fault](request), fault };
}

type Change = (request: AttemptRequest) => AttemptRequest;

const unchanged: Change = (request) => request;

const CHANGES: Readonly<Record<Exclude<Fault, Outage>, Change>> = {
  bad_signature: (request) => withSignature(request, mismatching(signatureOf(request))),
  missing_signature: (request) => withSignature(request, undefined),
  stale_secret: (request) => withSignature(request, sign(request.body, STALE_SECRET)),
  oversize: oversized,
  duplicate: unchanged,
  reorder: unchanged,
  slow_body: (request) => ({ ...request, writeBody: writeBodyOf("slow_body") }),
  truncated: (request) => ({ ...request, writeBody: writeBodyOf("truncated") }),
  reset: (request) => ({ ...request, writeBody: writeBodyOf("reset") }),
};

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

/** Well-formed and wrong: the first digit is a different one. */
function mismatching(signature = "0".repeat(40)): string {
  const digit = Number.parseInt(signature.slice(0, 1), 16);
  return (digit ^ 1).toString(16) + signature.slice(1);
}

/** White space after a JSON text does not change the message. */
function oversized(request: AttemptRequest): AttemptRequest {
  const body = new Uint8Array(Math.max(OVERSIZE_BYTES, request.body.length)).fill(0x20);
  body.set(request.body);
  return withSignature({ ...request, body }, request.sign?.(body));
}
