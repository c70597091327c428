/** The codes of {@link WebhookError} and the HTTP status each is answered with. */
const STATUS = {
  ERR_METHOD_NOT_ALLOWED: 405,
  ERR_MEDIA_TYPE: 415,
  ERR_CONTENT_ENCODING: 415,
  ERR_BODY_TOO_LARGE: 413,
  ERR_BODY_FRAGMENTED: 400,
  ERR_BODY_ABORTED: 400,
  ERR_BODY_ALREADY_READ: 500,
  ERR_SIGNATURE_MISSING: 401,
  ERR_SIGNATURE_MALFORMED: 401,
  ERR_SIGNATURE_MISMATCH: 401,
  ERR_INVALID_UTF8: 400,
  ERR_INVALID_JSON: 400,
  ERR_BATCH_UNSUPPORTED: 422,
  ERR_UNKNOWN_TYPE: 422,
  ERR_INVALID_MESSAGE: 422,
  ERR_DUPLICATE_IN_FLIGHT: 503,
} as const;

/** Every code, in the order of the checks. */
export const ERROR_CODES: readonly WebhookErrorCode[] = Object.keys(STATUS) as WebhookErrorCode[];

/** Why a request is not accepted as a webhook. Stable: programs may compare it. */
export type WebhookErrorCode = keyof typeof STATUS;

/** What the caller is told, unless the place that fails has something more precise to say. Never a secret or a digest. */
const MESSAGE: Record<WebhookErrorCode, string> = {
  ERR_METHOD_NOT_ALLOWED: "Webhooks are delivered by POST.",
  ERR_MEDIA_TYPE: "The Content-Type must be application/json in UTF-8.",
  ERR_CONTENT_ENCODING: "The body must be sent without a content encoding.",
  ERR_BODY_TOO_LARGE: "The body is larger than this receiver accepts.",
  ERR_BODY_FRAGMENTED: "The body comes in too many chunks.",
  ERR_BODY_ABORTED: "The body ended before it was complete.",
  ERR_BODY_ALREADY_READ: "The receiver could not read the body.",
  ERR_SIGNATURE_MISSING: "The X-Signature header is missing.",
  ERR_SIGNATURE_MALFORMED: "The X-Signature header must be 40 hex digits, once.",
  ERR_SIGNATURE_MISMATCH: "The X-Signature header does not match the body.",
  ERR_INVALID_UTF8: "The body is not valid UTF-8.",
  ERR_INVALID_JSON: "The body is not valid JSON.",
  ERR_BATCH_UNSUPPORTED: "The body is an array; send one message in each request.",
  ERR_UNKNOWN_TYPE: "The message has an unknown type.",
  ERR_INVALID_MESSAGE: "The message is not well formed.",
  ERR_DUPLICATE_IN_FLIGHT: "This delivery is being processed already; try again later.",
};

/** What the operator should look at: it goes to logs and hooks, never to the caller. */
const HINT: Record<WebhookErrorCode, string> = {
  ERR_METHOD_NOT_ALLOWED: "Only POST reaches the handler. This was probably a browser or a health check.",
  ERR_MEDIA_TYPE:
    "The service sends application/json. Something else posted here, or a proxy changed the header.",
  ERR_CONTENT_ENCODING: "The service does not compress. Turn off request compression in the proxy in front.",
  ERR_BODY_TOO_LARGE: "The service sends at most 32 KB a message. Raise maxBodyBytes if yours are larger.",
  ERR_BODY_FRAGMENTED:
    "The service sends a message in a few chunks. Something on the way cuts it into pieces of some bytes, or it is an attack.",
  ERR_BODY_ABORTED: "The connection closed before the body ended: a timeout of the sender or of a proxy.",
  ERR_BODY_ALREADY_READ:
    "Something read the request stream before verifyWebhook() and kept neither bytes nor text. " +
    "Mount verifyWebhook() before the body parser, or let the parser keep the bytes in request.rawBody.",
  ERR_SIGNATURE_MISSING:
    "The sender has no shared secret, a proxy drops the header, or the request is not from the service.",
  ERR_SIGNATURE_MALFORMED: "The signature is not hex HMAC-SHA1, or the header came more than once.",
  ERR_SIGNATURE_MISMATCH:
    "The sender signs with another secret, or something changed the body on the way. " +
    "Set onRejected or call diagnose(): both try the usual causes.",
  ERR_INVALID_UTF8: "The body is correctly signed, but not valid UTF-8. Fix the sender.",
  ERR_INVALID_JSON: "The body is correctly signed, but not valid JSON. Fix the sender.",
  ERR_BATCH_UNSUPPORTED:
    "Only the first element of such a batch is signed, so the rest cannot be trusted. Turn batching off at the sender.",
  ERR_UNKNOWN_TYPE:
    "The message is authentic. Set allowUnknownTypes to receive types that this version does not know.",
  ERR_INVALID_MESSAGE: "The message is authentic, but a field is not of the documented kind (spec 2.2).",
  ERR_DUPLICATE_IN_FLIGHT: "The same delivery came again while its handler runs. The sender will repeat it.",
};

const HEADERS: { readonly [code in WebhookErrorCode]?: Readonly<Record<string, string>> } = {
  ERR_METHOD_NOT_ALLOWED: { allow: "POST" },
  // The rest of the body is not wanted: closing tells the sender to stop.
  ERR_BODY_TOO_LARGE: { connection: "close" },
  ERR_BODY_FRAGMENTED: { connection: "close" },
  ERR_DUPLICATE_IN_FLIGHT: { "retry-after": "5" },
};

/** What a {@link WebhookError} may be given besides its code. */
export interface WebhookErrorOptions {
  /** What was wrong, safe to show to the caller. Default: the code's own sentence. */
  readonly message?: string;
  /** What the operator should look at. Never sent. Default: the code's own sentence. */
  readonly hint?: string;
  readonly cause?: unknown;
}

/**
 * A request that is refused. `message` is safe to show to the caller. `hint` is for the operator and never sent.
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
  /** What the operator should look at. Never sent to the caller. */
  readonly hint: string;
  /** Tells Koa and Express that `message` may be shown. */
  readonly expose = true;
  /** Headers that belong to the answer, names in lower case. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: WebhookErrorCode, options: WebhookErrorOptions = {}) {
    super(options.message ?? MESSAGE[code], options.cause === undefined ? {} : { cause: options.cause });
    this.code = code;
    this.status = STATUS[code];
    this.statusCode = this.status;
    this.hint = options.hint ?? HINT[code];
    this.headers = HEADERS[code] ?? {};
  }
}
