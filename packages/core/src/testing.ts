import { isBytes } from "@countersign/protocol/json";
import type {
  AliasMessage,
  DeleteMessage,
  GroupMessage,
  IdentifyMessage,
  PageMessage,
  ScreenMessage,
  TrackMessage,
  WebhookMessage,
} from "./messages/messages.ts";
import { sign } from "./verification/signature.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const COMMON = {
  version: 1,
  userId: "u-1842",
  timestamp: "2026-11-20T16:02:14.510Z",
  context: { ip: "203.0.113.7", library: { name: "countersign", version: "1.0" } },
} as const;

/** One well-formed message of each of the seven types, with the fields and the key order of the sender. */
export interface SampleMessages {
  readonly page: PageMessage;
  readonly screen: ScreenMessage;
  readonly identify: IdentifyMessage;
  readonly track: TrackMessage;
  readonly alias: AliasMessage;
  readonly group: GroupMessage;
  readonly delete: DeleteMessage;
}

/**
 * One well-formed message of each of the seven types (spec 2.2).
 *
 * @example
 * ```ts
 * for (const message of Object.values(sampleMessages)) await post(signedRequest(message, secret));
 * ```
 */
export const sampleMessages: SampleMessages = {
  page: {
    version: COMMON.version,
    type: "page",
    messageId: "sample-page",
    userId: COMMON.userId,
    name: "Pricing",
    properties: {
      path: "/pricing",
      referrer: "https://example.com/",
      title: "Pricing",
      url: "https://example.com/pricing",
    },
    timestamp: COMMON.timestamp,
    context: COMMON.context,
  },
  screen: {
    version: COMMON.version,
    type: "screen",
    messageId: "sample-screen",
    userId: COMMON.userId,
    name: "Home",
    timestamp: COMMON.timestamp,
    context: {
      ...COMMON.context,
      device: { model: "Pixel 9", type: "android" },
      os: { name: "Android", version: "16" },
      app: { build: "412", name: "Example", version: "4.1.2" },
    },
  },
  identify: {
    version: COMMON.version,
    type: "identify",
    messageId: "sample-identify",
    userId: COMMON.userId,
    traits: { email: "ada@example.com", plan: "pro", logins: 5 },
    timestamp: COMMON.timestamp,
    context: COMMON.context,
  },
  track: {
    version: COMMON.version,
    type: "track",
    messageId: "sample-track",
    userId: COMMON.userId,
    event: "Order Completed",
    properties: { orderId: "o-77", total: 41.5, currency: "EUR" },
    timestamp: COMMON.timestamp,
    context: COMMON.context,
  },
  alias: {
    version: COMMON.version,
    type: "alias",
    messageId: "sample-alias",
    userId: COMMON.userId,
    "Previous ID": "anonymous-3f2a",
    "User ID": COMMON.userId,
    timestamp: COMMON.timestamp,
    context: COMMON.context,
  },
  group: {
    version: COMMON.version,
    type: "group",
    messageId: "sample-group",
    userId: COMMON.userId,
    groupId: "g-12",
    traits: { name: "Example Ltd", industry: "Technology", employees: 329, plan: "enterprise" },
    timestamp: COMMON.timestamp,
    context: COMMON.context,
  },
  delete: { type: "delete", userId: COMMON.userId, timestamp: COMMON.timestamp },
};

/** A request as plain data: give it to any HTTP client. */
export interface SignedRequest {
  readonly method: "POST";
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** In its own memory, as `fetch` requires of a body. */
  // This is Uint8Array<ArrayBuffer>, but TypeScript before 5.7 reads it, too: there, Uint8Array has no type parameter.
  readonly body: ReturnType<typeof Uint8Array.of>;
  /** The body as text, for libraries that serialise bytes as JSON, such as supertest: `.send(text)`. */
  readonly text: string;
}

/**
 * The request that the service would send for a message: the body, its signature and the documented headers (spec 4.1).
 *
 * @param message - A message, or the exact text or bytes of a body.
 * @param secret - The shared secret.
 * @example
 * ```ts
 * const { method, headers, body } = signedRequest(sampleMessages.track, "secret");
 * const response = await fetch(url, { method, headers, body });
 * ```
 * @example With supertest, which would serialise the bytes
 * ```ts
 * const { headers, text } = signedRequest(sampleMessages.track, "secret");
 * await supertest(app).post("/webhooks").set(headers).send(text).expect(204);
 * ```
 */
export function signedRequest(
  message: WebhookMessage | Readonly<Record<string, unknown>> | string | Uint8Array,
  secret: string,
): SignedRequest {
  const body = isBytes(message) ? Uint8Array.from(message) : encoder.encode(asText(message));
  return {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "user-agent": "Countersign/1.0",
      "x-signature": sign(body, secret),
    },
    ...withBody(body),
  };
}

/** Ways to break a signed request, or to change it without breaking it. Each returns a new request. */
export interface Mutations {
  /** A digit of the body is changed after it was signed. A receiver must reject it. */
  readonly tampered: (request: SignedRequest) => SignedRequest;
  /** The signature is removed. A receiver must reject it. */
  readonly unsigned: (request: SignedRequest) => SignedRequest;
  /** The body is signed with a secret that the receiver does not have. A receiver must reject it. */
  readonly forged: (request: SignedRequest) => SignedRequest;
  /** The signature is not hex HMAC-SHA1 at all. A receiver must reject it, and not with a 5xx. */
  readonly malformed: (request: SignedRequest) => SignedRequest;
  /** The hex digits are in upper case. A receiver should accept it. */
  readonly upperCase: (request: SignedRequest) => SignedRequest;
  /** The JSON is written with white space, as some proxies do, under the old signature. A receiver should accept it. */
  readonly reSpaced: (request: SignedRequest) => SignedRequest;
}

/**
 * Ways to change a signed request, to test what a receiver answers.
 *
 * @example
 * ```ts
 * const forged = mutations.forged(signedRequest(sampleMessages.track, secret));
 * ```
 */
export const mutations: Mutations = {
  tampered: (request) => ({ ...request, ...withBody(changeOneByte(request.body)) }),
  unsigned: ({ headers: { "x-signature": _signature, ...headers }, ...request }) => ({ ...request, headers }),
  forged: (request) => withSignature(request, sign(request.body, "not the shared secret")),
  malformed: (request) => withSignature(request, "not-a-signature"),
  upperCase: (request) => withSignature(request, (request.headers["x-signature"] ?? "").toUpperCase()),
  reSpaced: (request) => ({
    ...request,
    ...withBody(encoder.encode(JSON.stringify(JSON.parse(request.text), null, 2))),
  }),
};

function asText(message: string | object): string {
  return typeof message === "string" ? message : JSON.stringify(message);
}

function withSignature(request: SignedRequest, signature: string): SignedRequest {
  return { ...request, headers: { ...request.headers, "x-signature": signature } };
}

function withBody(body: SignedRequest["body"]): Pick<SignedRequest, "body" | "text"> {
  return { body, text: decoder.decode(body) };
}

/** Another letter or digit in place of the last one, so that the body stays JSON of the same length. */
function changeOneByte(body: Uint8Array): SignedRequest["body"] {
  const changed = Uint8Array.from(body);
  const index = changed.findLastIndex((byte) => /[0-9a-z]/i.test(String.fromCodePoint(byte)));
  const at = index === -1 ? 0 : index;
  changed[at] = changed[at] === 0x30 ? 0x31 : 0x30;
  return changed;
}
