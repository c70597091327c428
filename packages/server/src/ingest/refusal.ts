/** How a request is answered that is refused as a whole, by its code: the status, and the message unless a narrower one is given. */
export const REFUSALS = {
  invalid_json: { status: 400, message: "Malformed JSON" },
  invalid_gzip: { status: 400, message: "Malformed gzip" },
  unsupported_encoding: { status: 400, message: "Unsupported content encoding" },
  payload_too_large: { status: 400, message: "Exceed payload limit" },
  body_aborted: { status: 400, message: "The body ended early" },
  no_data: { status: 400, message: "The pixel has no `data`" },
  not_found: { status: 404, message: "Path not found" },
  unknown_write_key: { status: 404, message: "No source has this write key" },
  method_not_allowed: { status: 405, message: "Use another method" },
  rate_limited: { status: 429, message: "Too many requests" },
  store_full: { status: 503, message: "The store is full" },
  unavailable: { status: 503, message: "The messages could not be stored" },
  overloaded: { status: 503, message: "Too much at once" },
} as const;

/** The code of a refusal. */
export type RefusalCode = keyof typeof REFUSALS;

/**
 * A request that is answered with an error as a whole. The body has `success`, `code` and `message`: a published client
 * that finds no `code` crashes, and then retries what was final.
 */
export interface Refusal {
  readonly status: (typeof REFUSALS)[RefusalCode]["status"];
  readonly code: RefusalCode;
  readonly message: string;
  /** What the client can do about it. */
  readonly detail: string;
}

/** What is refused in place of a result. */
export interface Refused {
  readonly ok: false;
  readonly refusal: Refusal;
}

/** The refusal of a code. */
export function refusal(
  code: RefusalCode,
  detail: string,
  message: string = REFUSALS[code].message,
): Refusal {
  return { status: REFUSALS[code].status, code, message, detail };
}
