import { equalDigests, fromHex, fromUtf8, hmac, toUtf8 } from "#platform";
import type { Diagnosis, DiagnosisCode } from "./diagnosis.ts";
import { isDeeperThan, MAX_LEVELS } from "./json-depth.ts";
import { bodyBytes, reserialize, secretList, type Secrets, type SignatureHeader } from "./signature.ts";

/** The input of {@link diagnose}. */
export interface DiagnoseInput {
  /** The exact body as received. */
  readonly body: string | Uint8Array;
  /** The `X-Signature` header. */
  readonly signature: SignatureHeader;
  /** The secret, or the secrets, that are accepted. */
  readonly secret: Secrets;
  /** Secrets that were used before. They are never accepted, only recognised. */
  readonly retiredSecrets?: readonly string[] | undefined;
}

const PARSED_BEFORE_TEXT =
  "The sender has another secret, or it signed JSON that JSON.stringify writes differently: a body parser read the " +
  "request before and kept only the parsed value. Compare the secrets first. If they are the same, mount verifyWebhook() " +
  "before the body parser, or let the parser keep the bytes in request.rawBody.";

const DIAGNOSES: Readonly<Record<DiagnosisCode, string>> = {
  "secret-white-space":
    "The signature matches the secret with white space around it. Trim the secret on the side that has the space.",
  "secret-quotes":
    "The signature matches the secret with or without quotation marks around it. Something, such as docker --env-file, takes the quotes of an .env file as part of the value. Remove them.",
  "empty-secret":
    "The signature matches an empty secret. The sender has none, for example because its environment variable is not set. Set it there.",
  "retired-secret":
    "The signature matches a retired secret. Give the sender the new one, or list both while you rotate.",
  "prefixed-signature":
    "The signature has an algorithm before it, such as sha1=. The header must be only the hex digits.",
  sha256: "The signature is an HMAC-SHA256. The service signs with HMAC-SHA1.",
  base64: "The signature is in base64. The service sends hex digits.",
  "re-serialized":
    "The signature matches the body serialised again by JSON.stringify. A proxy re-spaced the JSON. Without strict, it is accepted.",
  "pretty-printed":
    "The signature matches the body indented by two spaces. The sender signs a different string than it sends, or a body parser kept only the parsed value.",
  "trailing-newline":
    "The signature matches the body with a newline added to or removed from its end. A tool or a proxy changed it.",
  "first-of-array":
    "The signature matches only the first element of the array. Turn batching off at the sender: the rest is unsigned.",
  "empty-body": "The signature matches an empty body. The sender signs before it has written the body.",
  "serialized-bytes":
    "The signature matches the bytes that the body lists: a library serialised a Buffer or Uint8Array as JSON. Send the text " +
    "instead. With supertest, use .send(signedRequest(...).text).",
  "parsed-before": PARSED_BEFORE_TEXT,
};

/** Why the signature of a body that arrived parsed may not match. It cannot be told from the bytes, as the others can. */
export const PARSED_BEFORE: Diagnosis = { code: "parsed-before", message: PARSED_BEFORE_TEXT };

/** A message is 64 KB at most: a call of 32 KB (spec 8), and the context of its batch. To explain more would cost a forger nothing. */
export const MAX_DIAGNOSED_BYTES = 65_536;

/**
 * Explains why a signature does not match a body, by trying the usual causes. Its cost is bounded. The result is for logs
 * and tools: never show it to the caller.
 *
 * @param input - The body, the signature and the secrets.
 * @returns The causes that together make the signature match. An empty list if none does (most likely the sender has
 *   another secret), if the signature matches as it is, or if the body is larger than 64 KiB.
 * @throws TypeError for an empty secret, or a body that is neither text nor bytes.
 * @example
 * ```ts
 * for (const { message } of diagnose({ body, signature, secret })) console.error(message);
 * ```
 */
export function diagnose(input: DiagnoseInput): Diagnosis[] {
  const bytes = bodyBytes(input.body);
  if (bytes.length > MAX_DIAGNOSED_BYTES) return [];
  const candidate = readLoosely(input.signature);
  if (candidate === undefined) return [];
  const secrets = secretList(input.secret).map((key) => ({ key, why: NOTHING }));
  const bodies = [{ bytes, why: NOTHING }, ...otherBodies(bytes)];
  const keys = [...secrets, ...otherKeys(secretList(input.secret), input.retiredSecrets ?? [])];

  // Either the body or the key is another one, not both: that keeps the number of tries small.
  const tries = [
    ...bodies.flatMap((body) => secrets.map((secret) => ({ body, secret }))),
    ...keys.map((secret) => ({ body: { bytes, why: NOTHING }, secret })),
  ];
  const found = tries.find(({ body, secret }) =>
    equalDigests(hmac(candidate.hash, secret.key, body.bytes), candidate.digest),
  );
  if (found === undefined) return [];
  return explain([...candidate.why, ...found.body.why, ...found.secret.why]);
}

/** What the form of a malformed signature tells, without a body to compare it with. */
export function diagnoseForm(signature: SignatureHeader): Diagnosis[] {
  return explain(readLoosely(signature)?.why ?? NOTHING);
}

function explain(why: Why): Diagnosis[] {
  return why.map((code) => ({ code, message: DIAGNOSES[code] }));
}

type Why = readonly DiagnosisCode[];
const NOTHING: Why = [];

interface Candidate {
  readonly digest: Uint8Array;
  readonly hash: "sha1" | "sha256";
  readonly why: Why;
}

/** The header read with all the freedom that a receiver does not grant. */
function readLoosely(header: SignatureHeader): Candidate | undefined {
  const value: unknown = Array.isArray(header) ? header[0] : header;
  if (typeof value !== "string") return undefined;
  const text = value.trim();
  const digits = text.replace(/^(?:hmac-)?sha-?(?:1|256)\s*[=:]\s*/i, "");
  const why: DiagnosisCode[] = digits === text ? [] : ["prefixed-signature"];
  const digest = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/i.test(digits) ? fromHex(digits) : fromBase64(digits);
  if (digest?.length !== 20 && digest?.length !== 32) return undefined;
  if (digest.length === 32) why.push("sha256");
  if (digits.length !== digest.length * 2) why.push("base64");
  return { digest, hash: digest.length === 32 ? "sha256" : "sha1", why };
}

function fromBase64(text: string): Uint8Array | undefined {
  if (!/^[\w+/-]{27,43}={0,2}$/.test(text)) return undefined;
  try {
    const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    return Uint8Array.from(binary, (character) => character.codePointAt(0) ?? 0);
  } catch {
    return undefined;
  }
}

function otherBodies(bytes: Uint8Array): { bytes: Uint8Array; why: Why }[] {
  const text = fromUtf8(bytes);
  const bodies: [DiagnosisCode, string][] = [["empty-body", ""]];
  if (text !== undefined) {
    bodies.unshift(
      ["trailing-newline", `${text}\n`],
      ["trailing-newline", `${text}\r\n`],
      ["trailing-newline", text.replace(/\r?\n$/, "")],
    );
  }
  const rewritten = isDeeperThan(bytes, MAX_LEVELS) ? undefined : reserialize(text);
  if (rewritten !== undefined) bodies.unshift(...otherJson(rewritten));
  return bodies.flatMap(([code, body]) => (body === text ? [] : [{ bytes: toUtf8(body), why: [code] }]));
}

// Indentation grows with the square of the depth: without a bound, 64 KiB of brackets would be hundreds of megabytes.
const MAX_DEPTH = 32;

function otherJson(rewritten: string): [DiagnosisCode, string][] {
  const bodies: [DiagnosisCode, string][] = [["re-serialized", rewritten]];
  if (isDeeperThan(toUtf8(rewritten), MAX_DEPTH)) return bodies;
  const value: unknown = JSON.parse(rewritten);
  bodies.push(["pretty-printed", JSON.stringify(value, null, 2)]);
  if (Array.isArray(value) && value.length > 0) bodies.push(["first-of-array", JSON.stringify(value[0])]);
  const serialized = bytesOf(value);
  if (serialized !== undefined) bodies.push(["serialized-bytes", serialized]);
  return bodies;
}

/** The text in bytes that were serialised: `{"type":"Buffer","data":[123]}` of a Buffer, `{"0":123}` of a Uint8Array. */
function bytesOf(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { type, data } = value as { readonly type?: unknown; readonly data?: unknown };
  const bytes: unknown[] = type === "Buffer" && Array.isArray(data) ? data : Object.values(value);
  const isBytes = bytes.every((byte) => typeof byte === "number" && byte >= 0 && byte < 256);
  return isBytes && bytes.length > 0 ? fromUtf8(Uint8Array.from(bytes as number[])) : undefined;
}

function otherKeys(secrets: readonly string[], retired: readonly string[]): { key: string; why: Why }[] {
  const spaced = secrets.flatMap((secret) =>
    [secret.trim(), `${secret}\n`, `${secret}\r\n`, `${secret} `, ` ${secret}`]
      .filter((key) => key !== secret && key !== "")
      .map((key) => ({ key, why: ["secret-white-space"] as Why })),
  );
  const quoted = secrets.flatMap((secret) =>
    [/^(["']).+\1$/.test(secret) ? secret.slice(1, -1) : "", `"${secret}"`, `'${secret}'`]
      .filter((key) => key !== "")
      .map((key) => ({ key, why: ["secret-quotes"] as Why })),
  );
  const empty = { key: "", why: ["empty-secret"] as Why };
  return [...spaced, ...quoted, empty, ...retired.map((key) => ({ key, why: ["retired-secret"] as Why }))];
}
