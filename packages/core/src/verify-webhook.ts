import { fromUtf8, toUtf8 } from "./bytes.ts";
import { WebhookError } from "./errors.ts";
import { reserialize } from "./json.ts";
import type { UnknownMessage, WebhookMessage } from "./messages.ts";
import { parseMessage } from "./parse-message.ts";
import {
  readSignature,
  verifySignature,
  type Secrets,
  type SignatureHeader,
  type VerifiedOver,
} from "./signature.ts";

/** The messages a receiver hands on: the seven, and {@link UnknownMessage} too where unknown types are allowed. */
export type ReceivedMessage<AllowUnknown extends boolean = false> = AllowUnknown extends true
  ? WebhookMessage | UnknownMessage
  : WebhookMessage;

/** A message that is authentic and well formed, and how it was verified. */
export interface VerifiedWebhook<Message extends WebhookMessage | UnknownMessage = WebhookMessage> {
  /** The message. Narrow it on `type`. */
  readonly message: Message;
  /** The exact bytes received. Where only a parsed body was to be had, that value written again. */
  readonly rawBody: Uint8Array;
  /** The signature, 40 lower-case hex digits; undefined for a message accepted without one. */
  readonly signature: string | undefined;
  /** Which secret matched, counted from 0; -1 for a message accepted without a signature. */
  readonly secretIndex: number;
  /** What the signature was found to match. */
  readonly verifiedOver: VerifiedOver;
}

/** The input of {@link verifyWebhook}. */
export interface VerifyWebhookInput<AllowUnknown extends boolean = false> {
  /** The exact body as received: bytes, or text that is taken as UTF-8. */
  readonly body: string | Uint8Array;
  /** The `X-Signature` header. */
  readonly signature: SignatureHeader;
  /** The shared secret, or a list of which any may match. */
  readonly secret: Secrets;
  /** Accept a signature over the exact bytes alone. Default: false. */
  readonly strict?: boolean;
  /** Hand on messages of a type that is not one of the seven. Default: false. */
  readonly allowUnknownTypes?: AllowUnknown;
}

/**
 * Verifies and parses a body you have at hand, in one synchronous step. Frameworks are better served by their adapter,
 * which also reads the body and answers.
 *
 * @param input - The exact body, its signature and the secret.
 * @returns The typed message and how it was verified.
 * @throws WebhookError `ERR_SIGNATURE_*`, `ERR_INVALID_UTF8`, `ERR_INVALID_JSON`, `ERR_BATCH_UNSUPPORTED`,
 *   `ERR_UNKNOWN_TYPE` or `ERR_INVALID_MESSAGE`.
 * @throws TypeError for an empty secret, or a body that is neither text nor bytes.
 * @example
 * ```ts
 * const { message } = verifyWebhook({ body: rawBody, signature: headers["x-signature"], secret });
 * if (message.type === "identify") await save(message.userId, message.traits);
 * ```
 */
export function verifyWebhook<AllowUnknown extends boolean = false>(
  input: VerifyWebhookInput<AllowUnknown>,
): VerifiedWebhook<ReceivedMessage<AllowUnknown>> {
  if (!("body" in input)) {
    throw new TypeError(
      "verifyWebhook() of @countersign/core takes a body at hand: { body, signature, secret }. " +
        "The middleware of this name is in @countersign/express, /fastify, /koa and /fetch.",
    );
  }
  const { body, signature, secret, strict = false } = input;
  const bytes = typeof body === "string" ? toUtf8(body) : body;
  const verified = authenticate(bytes, signature, secret, strict);
  return { ...verified, rawBody: bytes, message: parseBody(bytes, verified.verifiedOver, input) };
}

/** The part of a {@link VerifiedWebhook} that says how it was verified. */
export type Verification = Pick<VerifiedWebhook, "signature" | "secretIndex" | "verifiedOver">;

/** How a body was verified. @throws WebhookError `ERR_SIGNATURE_*`. */
export function authenticate(
  bytes: Uint8Array,
  header: SignatureHeader,
  secret: Secrets,
  strict: boolean,
): Verification {
  const result = verifySignature(bytes, header, secret, { strict });
  if (!result.ok) throw new WebhookError(result.code);
  const { secretIndex, verifiedOver } = result;
  return { signature: canonicalSignature(header), secretIndex, verifiedOver };
}

/** The signature in lower-case hex, or undefined where the header holds none. */
function canonicalSignature(header: SignatureHeader): string | undefined {
  const read = readSignature(header);
  return read.ok ? read.hex : undefined;
}

/**
 * The message in a verified body, read from the very text that was verified: bytes that merely re-serialise to it can
 * differ in meaning, since `1e400` is infinite when read and null when written again.
 *
 * @throws WebhookError naming what is wrong with it.
 */
export function parseBody<AllowUnknown extends boolean = false>(
  bytes: Uint8Array,
  verifiedOver: VerifiedOver,
  options: { readonly allowUnknownTypes?: AllowUnknown },
): ReceivedMessage<AllowUnknown> {
  const text = verifiedOver === "json" ? reserialize(bytes) : fromUtf8(bytes);
  if (text === undefined) throw new WebhookError("ERR_INVALID_UTF8");
  return typed(parseJson(text), options);
}

/** A parsed value as a message. @throws WebhookError naming what is wrong with it. */
export function typed<AllowUnknown extends boolean = false>(
  value: unknown,
  options: { readonly allowUnknownTypes?: AllowUnknown },
): ReceivedMessage<AllowUnknown> {
  // Without the option, parseMessage has refused unknown types.
  return parseMessage(value, options) as ReceivedMessage<AllowUnknown>;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new WebhookError("ERR_INVALID_JSON", { cause });
  }
}
