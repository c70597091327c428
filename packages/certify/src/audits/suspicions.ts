import { createHash, createHmac } from "node:crypto";
import type { Delivery, Probe } from "../probe/probe.ts";
import type { Advice } from "./advice.ts";
import { freshMessage, freshText } from "./messages.ts";

/** Why a receiver does not accept a correctly signed message, and what to do. */
export interface Diagnosis {
  readonly cause: string;
  readonly advice: Advice;
}

/** A fault that receivers often have, and what tells it from others. */
interface Suspicion extends Diagnosis {
  /** A message that a receiver with this fault accepts, though it does not accept the plain one. */
  readonly delivery: Delivery;
  /** A message that it does not accept, where one without the fault may accept the other. */
  readonly refuting?: Delivery;
}

export const DIGEST: Advice = {
  text: "Compute HMAC-SHA1 of the exact bytes of the body, keyed with the secret as UTF-8, and compare it with the 40 hex digits in X-Signature.",
  hint: "digest",
};

export const SAME_SECRET: Advice = {
  text: "Configure exactly the same secret on both sides.",
  hint: "secret",
};

/** The known faults, in the order in which they are tried. */
export function suspicions(probe: Probe): Suspicion[] {
  return [
    ...rewrittenBodies(),
    ...emptyBody(probe),
    ...otherForms(probe),
    ...otherSecrets(probe),
    ...otherTypes(),
  ];
}

/** Bodies that another language's JSON writer leaves as they are, when it writes them again. */
function rewrittenBodies(): Suspicion[] {
  const cause = "it signs JSON that it has serialised again, not the bytes it received";
  const plain = shortMessage();
  const sorted = Object.fromEntries(Object.entries(plain).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return [JSON.stringify(plain), spaced(plain), JSON.stringify(sorted), spaced(sorted)].map((body) => ({
    cause,
    advice: DIGEST,
    delivery: { what: "a track message in the form of another JSON writer", body },
    refuting: {
      what: "a track message in the form of no JSON writer",
      body: JSON.stringify(shortMessage()).replaceAll(",", " ,  "),
    },
  }));
}

function shortMessage(): Readonly<Record<string, string>> {
  return {
    type: "track",
    event: "Hello",
    userId: "countersign-certify",
    messageId: String(freshMessage("track")["messageId"]),
  };
}

/** JSON with a space after each comma and colon, as Python's json.dumps writes it. */
function spaced(value: object): string {
  const pairs = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${JSON.stringify(item)}`);
  return `{${pairs.join(", ")}}`;
}

/** What is left of a body for the second who reads it. */
function emptyBody({ sign }: Probe): Suspicion[] {
  const advice: Advice = {
    text: "Read the body once, before anything parses it, and compute the HMAC of these bytes. What reads it a second time gets nothing.",
    hint: "digest",
  };
  return suspicion("it signs an empty body: something has read the body before the check", advice, () =>
    sign(""),
  );
}

function sha1(text: string): string {
  return createHash("sha1").update(text).digest("hex");
}

function otherForms({ secret, sign }: Probe): Suspicion[] {
  const hmac = (algorithm: string, body: string) => createHmac(algorithm, secret).update(body);
  const forms: readonly (readonly [string, (body: string) => string])[] = [
    ["it expects the signature in upper-case hex", (body) => sign(body).toUpperCase()],
    ["it expects sha1= before the signature", (body) => `sha1=${sign(body)}`],
    ["it expects the signature in base64, not in hex", (body) => hmac("sha1", body).digest("base64")],
    ["it computes HMAC-SHA256, not HMAC-SHA1", (body) => hmac("sha256", body).digest("hex")],
    ["it computes HMAC-SHA256, not HMAC-SHA1", (body) => `sha256=${hmac("sha256", body).digest("hex")}`],
    ["it computes HMAC-SHA256, not HMAC-SHA1", (body) => hmac("sha256", body).digest("base64")],
    ["it computes HMAC-SHA512, not HMAC-SHA1", (body) => hmac("sha512", body).digest("hex")],
    ["it computes HMAC-MD5, not HMAC-SHA1", (body) => hmac("md5", body).digest("hex")],
    ["it hashes secret and body with plain SHA-1 instead of HMAC-SHA1", (body) => sha1(secret + body)],
    ["it hashes body and secret with plain SHA-1 instead of HMAC-SHA1", (body) => sha1(body + secret)],
    ["it hashes the body without the secret, so anyone can sign", sha1],
    [
      "it takes the body as the key, and signs the secret with it",
      (body) => createHmac("sha1", body).update(secret).digest("hex"),
    ],
  ];
  return forms.flatMap(([cause, signature]) => suspicion(cause, DIGEST, signature));
}

function otherSecrets({ secret }: Probe): Suspicion[] {
  const unset = "its secret is not set: it uses";
  const keys: readonly (readonly [string, string | Buffer])[] = [
    [`${unset} an empty one`, ""],
    ...["undefined", "null", "None", "nil", "false", "secret"].map(
      (word) => [`${unset} "${word}"`, word] as const,
    ),
    ["its secret ends with a line break", `${secret}\n`],
    ["its secret ends with a line break", `${secret}\r\n`],
    ["its secret ends with a space", `${secret} `],
    ["its secret is in quotes", `"${secret}"`],
    ["its secret is in quotes", `'${secret}'`],
    ["its secret has no white space around it, and the one given to certify has", secret.trim()],
    ["it decodes the secret from hex", Buffer.from(secret, "hex")],
    ["it decodes the secret from base64", Buffer.from(secret, "base64")],
  ];
  return keys
    .filter(([, key]) => key !== secret)
    .flatMap(([cause, key]) =>
      suspicion(cause, SAME_SECRET, (body) => createHmac("sha1", key).update(body).digest("hex")),
    );
}

function otherTypes(): Suspicion[] {
  return (["identify", "page"] as const).map((type) => ({
    cause: `it accepts ${type} messages, and no track messages`,
    advice: { text: "Accept all seven message types: after a 4xx a message is not sent again." },
    delivery: { what: `the ${type} message`, body: freshText(type) },
  }));
}

/** None where the signature cannot be made: a machine in FIPS mode has no MD5, and may refuse a short key. */
function suspicion(cause: string, advice: Advice, signature: (body: string) => string): Suspicion[] {
  const body = freshText("track");
  try {
    return [{ cause, advice, delivery: { what: "a track message", body, signature: signature(body) } }];
  } catch {
    return [];
  }
}
