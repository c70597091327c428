import { fromUtf8 } from "#platform";
import { misreadsKeys } from "@countersign/protocol/json";
import { WebhookError } from "../errors.ts";
import type { EventIssue } from "../messages/events.ts";
import type { ReceivedMessage, WebhookMessage } from "../messages/messages.ts";
import { parseMessage } from "../messages/parse-message.ts";
import { useOnDemand } from "./on-demand.ts";
import {
  bodyBytes,
  matchSignature,
  MAX_REWRITTEN_BYTES,
  readSignature,
  secretList,
  type Secrets,
  type SignatureHeader,
  type VerifiedOver,
} from "./signature.ts";

/** A message that is authentic and well formed, and how it was verified. */
export interface VerifiedWebhook<Message extends ReceivedMessage = WebhookMessage> {
  /** The message, read from `rawBody`. Narrow it on `type`. */
  readonly message: Message;
  /**
   * The bytes that the signature covers: those received if they match it, else their JSON serialised again
   * (`verifiedOver: "json"`). For a message accepted without a signature, the bytes received.
   */
  readonly rawBody: Uint8Array;
  /**
   * The bytes received, or undefined if a body parser read them before and kept only a value. With
   * `verifiedOver: "json"` they are not authenticated: they may differ from the message.
   */
  readonly receivedBody: Uint8Array | undefined;
  /** The signature, 40 lower-case hex digits, or undefined for a message accepted without one. */
  readonly signature: string | undefined;
  /** The index of the secret that matched, or -1 for a message accepted without a signature. */
  readonly secretIndex: number;
  /** The form that the signature matches. */
  readonly verifiedOver: VerifiedOver;
  /** With `invalidEvents: "report"`: where the properties do not match the event's schema. Absent if they match. */
  readonly issues?: readonly EventIssue[];
}

/** The input of {@link verifyWebhook}. */
export interface VerifyWebhookInput<Message extends ReceivedMessage = WebhookMessage> {
  /** The exact body as received: bytes, or text, which is encoded as UTF-8. */
  readonly body: string | Uint8Array;
  /** The `X-Signature` header. */
  readonly signature: SignatureHeader;
  /** The shared secret, or a list of secrets any of which may match. */
  readonly secret: Secrets;
  /** Compare only the exact bytes with the signature. Default: false. */
  readonly strict?: boolean | undefined;
  /** Accept messages of other types, as `UnknownMessage`. Default: false. */
  readonly allowUnknownTypes?: AllowUnknownTypes<Message> | undefined;
}

/** The option `allowUnknownTypes`: `true` only where the message may be an `UnknownMessage`. */
export type AllowUnknownTypes<Message extends ReceivedMessage> = ReceivedMessage extends Message
  ? boolean
  : false;

/**
 * Verifies and parses a body that you already have, in one synchronous step. In a framework use its adapter, which also
 * reads the body and answers.
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
export function verifyWebhook(
  input: VerifyWebhookInput<ReceivedMessage> & { readonly allowUnknownTypes: true },
): VerifiedWebhook<ReceivedMessage>;
export function verifyWebhook(input: VerifyWebhookInput): VerifiedWebhook;
export function verifyWebhook<Message extends ReceivedMessage>(
  input: VerifyWebhookInput<Message>,
): VerifiedWebhook<Message> {
  if (!("body" in input)) {
    throw new TypeError(
      "verifyWebhook() of @countersign/core takes a body that you already have: { body, signature, secret }. " +
        "The middleware of this name is in @countersign/express, /fastify, /koa and /fetch.",
    );
  }
  const { body, signature, secret, strict = false } = input;
  const secrets = secretList(secret);
  const bytes = bodyBytes(body);
  const header = readSignature(signature);
  if (!header.ok) throw new WebhookError(header.code);
  const read = { bytes, received: bytes };
  const match = authenticate(read, header.hex, secrets, strict);
  // Without the option, readMessage rejects unknown types.
  return verifiedWebhook(readMessage(match.covered, input) as Message, match, read, header.hex);
}

/** The result of a verification. It is written out, because a spread takes as long as a fifth of the hash of a small body. */
export function verifiedWebhook<Message extends ReceivedMessage>(
  message: Message,
  match: Authenticated,
  { received }: ReadBody,
  signature: string | undefined,
): VerifiedWebhook<Message> {
  const { covered, secretIndex, verifiedOver } = match;
  return { message, rawBody: covered, receivedBody: received, signature, secretIndex, verifiedOver };
}

/** The authenticated bytes, the secret, and the form that matched. */
export interface Authenticated {
  readonly covered: Uint8Array;
  /** The index of the secret that matched, or -1 if no signature is checked. */
  readonly secretIndex: number;
  readonly verifiedOver: VerifiedOver;
}

/** The bytes of a body, and the bytes that were received: none if a parser kept only a value. */
export interface ReadBody {
  /** The bytes to verify: those received, or a parsed value serialised again. */
  readonly bytes: Uint8Array;
  readonly received: Uint8Array | undefined;
}

const TOO_LARGE_TO_REWRITE = `Over ${MAX_REWRITTEN_BYTES} bytes, white space counts. Compare secrets and bytes.`;

/**
 * The bytes that the signature of a body covers. A value that a parser made was serialised again already: its
 * one form is compared.
 *
 * @throws WebhookError `ERR_SIGNATURE_MISMATCH`.
 */
export function authenticate(
  { bytes, received }: ReadBody,
  signature: string,
  secrets: readonly string[],
  strict: boolean,
): Authenticated {
  const isExact = strict || received === undefined;
  const match = matchSignature(bytes, signature, secrets, isExact);
  if (match === undefined) {
    const isTooLarge = !isExact && bytes.length > MAX_REWRITTEN_BYTES;
    throw new WebhookError("ERR_SIGNATURE_MISMATCH", { hint: isTooLarge ? TOO_LARGE_TO_REWRITE : undefined });
  }
  return received === undefined ? { ...match, verifiedOver: "json" } : match;
}

/**
 * The message in a body, read from the bytes that were verified. A body that only re-serialises to them can
 * differ in meaning: `1e400` is infinite when read and null when serialised again.
 *
 * @throws WebhookError naming what is wrong with it.
 */
export function readMessage(
  covered: Uint8Array,
  options: { readonly allowUnknownTypes?: boolean | undefined },
): ReceivedMessage {
  const text = fromUtf8(covered);
  if (text === undefined) throw new WebhookError("ERR_INVALID_UTF8");
  return parseMessage(valueOf(text), options);
}

function valueOf(text: string): unknown {
  try {
    return (readJson ?? JSON.parse)(text);
  } catch (cause) {
    throw new WebhookError("ERR_INVALID_JSON", { cause });
  }
}

// Where JSON.parse may misread a key, another one is loaded at once: before a request can have come that would have it misread a later
// one.
let readJson: ((text: string) => unknown) | undefined;
if (misreadsKeys())
  void useOnDemand(
    () => import("./read-json.ts"),
    ({ parseAsWritten }) => (readJson = parseAsWritten),
  );
