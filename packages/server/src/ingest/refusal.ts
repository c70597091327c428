/**
 * A request that is answered with an error as a whole. The body has `success`, `code` and `message`: a published client
 * that finds no `code` crashes, and then retries what was final.
 */
export interface Refusal {
  readonly status: 400 | 401 | 404 | 405 | 429 | 503;
  readonly code: string;
  readonly message: string;
  /** What the client can do about it. */
  readonly detail: string;
}

/** What is refused in place of a result. */
export interface Refused {
  readonly ok: false;
  readonly refusal: Refusal;
}

export function tooLarge(detail: string): Refusal {
  return { status: 400, code: "payload_too_large", message: "Exceed payload limit", detail };
}

export function invalidJson(detail: string): Refusal {
  return { status: 400, code: "invalid_json", message: "Malformed JSON", detail };
}
