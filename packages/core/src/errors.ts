import { limitStacks } from "@countersign/protocol/json";

/** Why a request is not accepted as a webhook. Stable: programs may compare it. */
export type WebhookErrorCode =
  | "ERR_METHOD_NOT_ALLOWED"
  | "ERR_MEDIA_TYPE"
  | "ERR_CONTENT_ENCODING"
  | "ERR_BODY_TOO_LARGE"
  | "ERR_BODY_FRAGMENTED"
  | "ERR_BODY_ABORTED"
  | "ERR_BODY_ALREADY_READ"
  | "ERR_SIGNATURE_MISSING"
  | "ERR_SIGNATURE_MALFORMED"
  | "ERR_SIGNATURE_MISMATCH"
  | "ERR_INVALID_UTF8"
  | "ERR_INVALID_JSON"
  | "ERR_BATCH_UNSUPPORTED"
  | "ERR_UNKNOWN_TYPE"
  | "ERR_INVALID_MESSAGE"
  | "ERR_DUPLICATE_IN_FLIGHT";

interface CodeInfo {
  /** The HTTP status of the response. */
  readonly status: number;
  /** The default message to the caller; the code that fails may give a more precise one. Never a secret or a digest. */
  readonly message: string;
  /** What the operator should check: for logs and hooks, never for the caller. */
  readonly hint: string;
  /** Headers of the response, names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** The text of each code, in the order of the checks. */
const CODES: Readonly<Record<WebhookErrorCode, CodeInfo>> = {
  ERR_METHOD_NOT_ALLOWED: {
    status: 405,
    message: "Webhooks are delivered by POST.",
    hint: "This was probably a browser or a health check.",
    headers: { allow: "POST" },
  },
  ERR_MEDIA_TYPE: {
    status: 415,
    message: "The Content-Type must be application/json in UTF-8.",
    hint: "Another client posted here, or a proxy changed the header.",
  },
  ERR_CONTENT_ENCODING: {
    status: 415,
    message: "The body must be sent without a content encoding.",
    hint: "Turn off request compression in the proxy.",
  },
  ERR_BODY_TOO_LARGE: {
    status: 413,
    message: "The body is larger than this receiver accepts.",
    hint: "Raise maxBodyBytes if your messages are larger than 64 KB.",
    // The receiver does not read the rest of the body. Closing the connection tells the sender to stop.
    headers: { connection: "close" },
  },
  ERR_BODY_FRAGMENTED: {
    status: 400,
    message: "The body arrives in too many chunks.",
    hint: "A proxy splits it up, or it is an attack.",
    // The receiver does not read the rest of the body. Closing the connection tells the sender to stop.
    headers: { connection: "close" },
  },
  ERR_BODY_ABORTED: {
    status: 400,
    message: "The body ended before it was complete.",
    hint: "The sender or a proxy probably timed out.",
  },
  ERR_BODY_ALREADY_READ: {
    status: 500,
    message: "The receiver could not read the body.",
    hint:
      "Something read the request before verifyWebhook() and did not keep the bytes. " +
      "Mount verifyWebhook() before it, or let it keep the bytes in request.rawBody.",
  },
  ERR_SIGNATURE_MISSING: {
    status: 401,
    message: "The X-Signature header is missing.",
    hint: "The sender has no shared secret, a proxy drops the header, or the request is not from the service.",
  },
  ERR_SIGNATURE_MALFORMED: {
    status: 401,
    message: "The X-Signature header must be a single value of 40 hex digits.",
    hint: "The signature is not a hex HMAC-SHA1, or the header was sent more than once.",
  },
  ERR_SIGNATURE_MISMATCH: {
    status: 401,
    message: "The X-Signature header does not match the body.",
    hint:
      "The sender signs with another secret, or a proxy changed the body. " +
      "Set onRejected or call diagnose(): both try the usual causes.",
  },
  ERR_INVALID_UTF8: {
    status: 400,
    message: "The body is not valid UTF-8.",
    hint: "If a signature is required, it matches. Fix the encoding at the sender.",
  },
  ERR_INVALID_JSON: {
    status: 400,
    message: "The body is not valid JSON.",
    hint: "If a signature is required, it matches. Fix the sender.",
  },
  ERR_BATCH_UNSUPPORTED: {
    status: 422,
    message: "The body is an array; send one message in each request.",
    hint: "Only the first element of a batch is signed. Turn batching off at the sender.",
  },
  ERR_UNKNOWN_TYPE: {
    status: 422,
    message: "The message has an unknown type.",
    hint: "Set allowUnknownTypes to accept other types.",
  },
  ERR_INVALID_MESSAGE: {
    status: 422,
    message: "The message is malformed.",
    hint: "The message of this error names the field. Log it, too.",
  },
  ERR_DUPLICATE_IN_FLIGHT: {
    status: 503,
    message: "This delivery is already being processed; try again later.",
    hint: "Its handler is running, or its process died. The sender will retry it.",
    headers: { "retry-after": "5" },
  },
};

/** Every code, in the order of the checks. */
export const ERROR_CODES: readonly WebhookErrorCode[] = Object.keys(CODES) as WebhookErrorCode[];

/** Options of a {@link WebhookError}, besides its code. */
export interface WebhookErrorOptions {
  /** What was wrong, safe to show to the caller. Default: the code's own sentence. */
  readonly message?: string | undefined;
  /** What the operator should check. Never sent. Default: the code's own sentence. */
  readonly hint?: string | undefined;
  /** The error behind it. Never sent. Default: none. */
  readonly cause?: unknown;
}

/**
 * A rejected request. `message` is safe to show to the caller. `hint` is for the operator and never sent.
 *
 * It follows the conventions of `http-errors` (`status`, `statusCode`, `expose`, `headers`), so that the error handling
 * of Express, Koa and Fastify answers it correctly.
 *
 * @example
 * ```ts
 * try {
 *   verifyWebhook({ body, signature, secret });
 * } catch (error) {
 *   if (error instanceof WebhookError) log.warn({ code: error.code, hint: error.hint });
 * }
 * ```
 */
export class WebhookError extends Error {
  override readonly name = "WebhookError";
  /** Stable, see {@link WebhookErrorCode}. */
  readonly code: WebhookErrorCode;
  /** The HTTP status to answer with. */
  readonly status: number;
  /** The same as `status`, under the name Fastify and Express read. */
  readonly statusCode: number;
  /** What the operator should check. Never sent to the caller. */
  readonly hint: string;
  /** Tells Koa and Express that `message` may be shown. */
  readonly expose = true;
  /** Headers of the response, names in lower case. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: WebhookErrorCode, options: WebhookErrorOptions = {}) {
    const { status, message, hint, headers } = CODES[code];
    // Forgeries are free to send, and a stack says nothing about a request.
    const calls = limitStacks(0);
    super(options.message ?? message, options.cause === undefined ? {} : { cause: options.cause });
    limitStacks(calls);
    this.code = code;
    this.status = status;
    this.statusCode = status;
    this.hint = options.hint ?? hint;
    this.headers = headers ?? {};
  }
}
