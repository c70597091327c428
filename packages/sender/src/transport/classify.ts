import {
  codeOf as ownCodeOf,
  connectionMessageOf,
  describeValue,
  isBytes,
  isError,
  isObject,
  nameKind,
} from "@countersign/protocol";
import type { AttemptResult } from "./transport.ts";
import { errors } from "undici";
import { CertificateError, TransportError } from "./transport-error.ts";
import { ATTEMPT_OUTCOMES, type AttemptOutcome } from "../delivery/attempt.ts";

/** What kept a response from coming, as {@link AttemptOutcome} with the code and the words to log. */
export interface Failure {
  readonly outcome: AttemptOutcome;
  readonly code: string;
  readonly message: string;
}

/** The outcome that a response's status means (see {@link AttemptOutcome}). */
export function outcomeOfStatus(status: number): AttemptOutcome {
  if (status >= 200 && status < 300) {
    return "success";
  }
  if ((status >= 500 && status < 600) || status === 408 || status === 429) {
    return "server_error";
  }
  return "rejected";
}

/** The outcome that an error means: of the connector, the operating system or the HTTP parser. */
export function outcomeOfError(error: unknown): Failure {
  const code = codeOf(error);
  const message = CLEARER_MESSAGES[code] ?? shortMessageOf(error);
  if (error instanceof CertificateError) {
    return { outcome: "tls", code, message };
  }
  if (error instanceof TransportError) {
    return { outcome: TRANSPORT_OUTCOMES[error.code], code, message };
  }
  // What the request itself is wrong in does not pass with time: it would fail in every retry for four hours.
  if ((isError(error) && error.name === "TypeError") || PERMANENT_CODES.has(code)) {
    return { outcome: "rejected", code, message };
  }
  return { outcome: code === "ETIMEDOUT" ? "timeout" : "network", code, message };
}

const RESULT_TEXTS = ["code", "message", "retryAfter", "date", "fault"] as const;
const RESULT_HEADERS = ["requestHeaders", "responseHeaders"] as const;

/**
 * Checks what a transport resolves to: that of an app may resolve to anything. A value of another kind would not be stored, or
 * fail where nothing catches it.
 *
 * @throws TypeError naming the field
 */
export function assertResult(result: AttemptResult): AttemptResult {
  if (!isObject(result)) throw new TypeError(`the result is ${nameKind(result)}`);
  const { outcome, responseBody, durationMs, status, earlier = [] } = result;
  if (!ATTEMPT_OUTCOMES.includes(outcome)) fail("outcome", `one of ${ATTEMPT_OUTCOMES.join(", ")}`, outcome);
  if (!isBytes(responseBody)) fail("responseBody", "bytes, in a Uint8Array", responseBody);
  if (!Number.isFinite(durationMs)) fail("durationMs", "a finite number of milliseconds", durationMs);
  if (typeof (status ?? 0) !== "number") fail("status", "a number", status);
  for (const name of RESULT_TEXTS)
    if (typeof (result[name] ?? "") !== "string") fail(name, "a text", result[name]);
  for (const name of RESULT_HEADERS) {
    const headers: unknown = result[name] ?? {};
    if (!isObject(headers)) return fail(name, "an object", headers);
    for (const header in headers) {
      const value = headers[header];
      // Node gives several of one name as a list.
      if (typeof value !== "string" && !Array.isArray(value)) fail(name, "an object of texts", headers);
    }
  }
  if (!Array.isArray(earlier)) fail("earlier", "a list of results", earlier);
  for (const one of earlier) assertResult(one);
  return result;
}

function fail(field: string, what: string, value: unknown): never {
  throw new TypeError(`the result's ${field} must be ${what}, not ${describeValue(value)}`);
}

/**
 * The result of an attempt whose transport threw or rejected, against its contract. It is tried again: what `fetch`
 * rejects with when a connection fails is a TypeError too.
 */
export function resultOfRejection(error: unknown, durationMs: number): AttemptResult {
  const code = codeOf(error);
  return {
    outcome: "network",
    code: code === "ERR_UNKNOWN" ? "ERR_TRANSPORT" : code,
    message: `the transport failed: ${shortMessageOf(error)}`,
    durationMs,
    responseBody: new Uint8Array(),
  };
}

const TRANSPORT_OUTCOMES = {
  ERR_ADDRESS_BLOCKED: "rejected",
  ERR_ABORTED: "network",
  ERR_CLOSED: "network",
  ERR_INFORMATIONAL_FLOOD: "network",
  ERR_INVALID_CA: "tls",
  ERR_PROXY: "network",
  ERR_TIMEOUT: "timeout",
  ERR_UNEXPECTED_INFORMATIONAL: "network",
  ETIMEDOUT: "timeout",
} as const;

const PERMANENT_CODES: ReadonlySet<string> = new Set(["UND_ERR_INVALID_ARG", "UND_ERR_NOT_SUPPORTED"]);

const CLEARER_MESSAGES: Readonly<Record<string, string>> = {
  UND_ERR_SOCKET: "the endpoint closed the connection before its response",
  ERR_UNEXPECTED_INFORMATIONAL: "the endpoint sent 100 or 101, which the request did not ask for",
  UND_ERR_HEADERS_OVERFLOW: "the response's headers are larger than 16 KiB",
  UND_ERR_DESTROYED: "the transport was closed before the response",
};

/** What undici says when it breaks a connection because of a 100 or 101 that was not asked for. */
const UNEXPECTED_INFORMATIONAL: ReadonlySet<string> = new Set(["bad response", "bad upgrade"]);

/** What V8 says when it can reserve no addresses for the instance that undici makes with its first connection. */
const NO_WASM_MEMORY = /\bCannot allocate Wasm memory\b/u;

function codeOf(error: unknown): string {
  if (error instanceof errors.SocketError && UNEXPECTED_INFORMATIONAL.has(error.message)) {
    return "ERR_UNEXPECTED_INFORMATIONAL";
  }
  if (isError(error) && NO_WASM_MEMORY.test(error.message)) return "ERR_WASM_MEMORY";
  return ownCodeOf(error) || (error instanceof errors.HTTPParserError ? "ERR_HTTP_PARSER" : "ERR_UNKNOWN");
}

/** A certificate lists as many names as its endpoint likes, and the words about a wrong one repeat all of them, in every attempt. */
const MAX_MESSAGE_CHARACTERS = 1_000;

function shortMessageOf(error: unknown): string {
  const message = connectionMessageOf(error);
  return message.length > MAX_MESSAGE_CHARACTERS ? `${message.slice(0, MAX_MESSAGE_CHARACTERS)}...` : message;
}
