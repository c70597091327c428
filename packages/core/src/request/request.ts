import { isBytes } from "@countersign/protocol/json";
import { bodyTooLarge } from "./body-too-large.ts";
import { WebhookError } from "../errors.ts";
import type * as ParsedBody from "./parsed-body.ts";
import { bodyBytes } from "../verification/signature.ts";
import type { ReadBody } from "../verification/verify-webhook.ts";

/** Request headers: a web-standard `Headers`, or a record whose names may be in any case. */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Where the body of a request comes from.
 *
 * - `stream`: nothing has read it. `read` gives its bytes, at most `maxBytes` of them, and throws a {@link WebhookError}
 *   (`ERR_BODY_TOO_LARGE`, `ERR_BODY_ABORTED`) otherwise. `readThen` is the same with a callback: a receiver that need not
 *   wait for anything else then decides in the turn in which the body ends.
 * - `raw`: something read it before and kept the bytes, or their text.
 * - `parsed`: something read and parsed it before, and kept only the value.
 * - `gone`: something read it before and kept nothing. `hint` tells the operator what to change.
 */
export type WebhookBody =
  | {
      readonly from: "stream";
      readonly read: (options: { maxBytes: number }) => Promise<Uint8Array>;
      readonly readThen?: (options: { maxBytes: number }, done: BodyCallback) => void;
    }
  | { readonly from: "raw"; readonly value: Uint8Array | string }
  | { readonly from: "parsed"; readonly value: unknown; readonly hint?: string | undefined }
  | { readonly from: "gone"; readonly hint?: string | undefined };

/** An HTTP request as an adapter passes it to a {@link Receiver}: data, and a way to read the body. */
export interface WebhookRequest<TRequest = unknown> {
  readonly method: string;
  readonly headers: WebhookHeaders;
  readonly body: WebhookBody;
  /** The framework's own request, passed to the `secret` function and to the hooks. */
  readonly request: TRequest;
}

/** What a framework may have left of a body that it read before the receiver was asked. */
export interface EarlierRead {
  /** `request.rawBody`, where a platform or a parser keeps the bytes. */
  readonly rawBody?: unknown;
  /** `request.body`: bytes, text or a parsed value. */
  readonly body?: unknown;
  /** What the operator can change: the hint of the error if nothing usable is left. */
  readonly hint?: string | undefined;
}

/**
 * The body of a request that something else read before: the bytes or text it kept, else the value it parsed, else
 * nothing.
 *
 * @param earlier - What it left behind.
 * @example
 * ```ts
 * const body = bodyReadBefore({ rawBody, hint: "Mount the receiver before the body parser." });
 * const received = await receiver.receive({ method: "POST", headers, body, request: undefined });
 * ```
 */
export function bodyReadBefore(earlier: EarlierRead): WebhookBody {
  const { rawBody, body, hint } = earlier;
  for (const value of [rawBody, body]) {
    if (isBytesOrText(value)) return { from: "raw", value };
  }
  return typeof body === "object" && body !== null
    ? { from: "parsed", value: body, hint }
    : { from: "gone", hint };
}

/** Whether a value is a body that was read and not parsed. */
export function isBytesOrText(value: unknown): value is Uint8Array | string {
  return typeof value === "string" || isBytes(value);
}

/** One header's value, whatever the case of its name. Several values are joined by a comma, as HTTP says. */
export function headerValue(headers: WebhookHeaders, name: string): string | undefined {
  if (isHeaders(headers)) return headers.get(name) ?? undefined;
  let found: string | undefined;
  for (const key of Object.keys(headers)) {
    const value = key.length === name.length && key.toLowerCase() === name ? headers[key] : undefined;
    // Platforms that make a request of an event give none as null, and the length of the body as a number. The text of a list is
    // its items with commas between them.
    if (value == null) continue;
    found = found === undefined ? String(value) : `${found},${String(value)}`;
  }
  return found;
}

// A record may have a header called "get", too, but its value is text and not a function.
function isHeaders(headers: WebhookHeaders): headers is { get(name: string): string | null } {
  return typeof headers["get" as keyof WebhookHeaders] === "function";
}

/** The content encodings that change nothing: none, and `identity`. */
const AS_IT_IS = /^\s*(?:identity\s*)?$/i;

/**
 * Checks what can be checked before the body is read: method, media type, content encoding, declared length.
 *
 * @throws WebhookError for the first that is wrong.
 */
export function checkHead(request: WebhookRequest, maxBodyBytes: number): void {
  if (request.method !== "POST") throw new WebhookError("ERR_METHOD_NOT_ALLOWED");
  if (!isJson(headerValue(request.headers, "content-type"))) throw new WebhookError("ERR_MEDIA_TYPE");
  if (!AS_IT_IS.test(headerValue(request.headers, "content-encoding") ?? ""))
    throw new WebhookError("ERR_CONTENT_ENCODING");
  // Without one, or with what is no number, the body itself is measured.
  if (Number(headerValue(request.headers, "content-length")) > maxBodyBytes) throw bodyTooLarge(maxBodyBytes);
}

/**
 * Is given the bytes of a body, or the error that ended the reading. Both, where the body may be whole all the same: a signature
 * that does not match them is then told as the error.
 */
export type BodyCallback = (error: unknown, bytes?: Uint8Array) => void;

type ReadBodyCallback = (error: unknown, body?: ReadBody) => void;

// Only apps with a body parser before the receiver load it.
let parsedBodies: Promise<typeof ParsedBody> | undefined;

/**
 * Reads the body of a request, wherever it comes from, within the limit. `done` is called with the body, or with a
 * WebhookError `ERR_BODY_TOO_LARGE`, `ERR_BODY_ABORTED`, or `ERR_BODY_ALREADY_READ` if nothing is left of it or, with
 * `strict`, only a parsed value.
 */
export function readBody(
  body: WebhookBody,
  options: { maxBytes: number; strict: boolean },
  done: ReadBodyCallback,
): void {
  const { maxBytes } = options;
  if (body.from === "stream") {
    if (body.readThen === undefined) {
      body
        .read({ maxBytes })
        .then((bytes) => unlessTooLarge(bytes, maxBytes))
        .then((read) => done(undefined, read), done);
    } else {
      body.readThen({ maxBytes }, (error, bytes) => done(error, bytes && { bytes, received: bytes }));
    }
    return;
  }
  if (body.from === "raw") return rawBody(body.value, maxBytes, done);
  parsedBodies ??= import("./parsed-body.ts");
  parsedBodies
    .then(({ readParsedBody }) => readParsedBody(body, options))
    .then((read) => done(undefined, read), done);
}

function rawBody(value: Uint8Array | string, maxBytes: number, done: ReadBodyCallback): void {
  let read: ReadBody;
  try {
    read = unlessTooLarge(bodyBytes(value), maxBytes);
  } catch (error) {
    return done(error);
  }
  done(undefined, read);
}

function unlessTooLarge(bytes: Uint8Array, maxBytes: number): ReadBody {
  if (bytes.length > maxBytes) throw bodyTooLarge(maxBytes);
  return { bytes, received: bytes };
}

const JSON_TYPE = /^application\/(?:[\w.!#$&^-]+\+)?json$/i;
const UTF8_CHARSET = /^charset\s*=\s*"?utf-?8"?$/i;

/**
 * Whether a Content-Type means JSON in UTF-8. Parameters other than the charset do not matter. Of several the first counts: Node
 * gives no other.
 */
function isJson(contentType = ""): boolean {
  if (contentType === "application/json") return true;
  const [first = ""] = contentType.split(",");
  const [type = "", ...parameters] = first.split(";").map((part) => part.trim());
  return (
    JSON_TYPE.test(type) && parameters.every((part) => !/^charset\s*=/i.test(part) || UTF8_CHARSET.test(part))
  );
}
