import { createHmac } from "node:crypto";
import type { Answer } from "../wire/exchange.ts";

/** A secret shorter than this is not looked for in answers: it would be found there by chance. */
const MIN_SECRET_LENGTH = 8;

/**
 * What no answer may hold: the secret, and the digests that would have been right for a body, in hex and base64.
 * A digest that was in the request itself tells the reader of the response nothing new.
 *
 * @param body - The body that was sent.
 * @param given - The header values that were sent.
 */
export function telltalesOf(body: Uint8Array, given: readonly string[], secret: string): string[] {
  const digests = [body, ...rewritten(body)].map((form) => createHmac("sha1", secret).update(form).digest());
  const forms = digests.flatMap((digest) => [digest.toString("hex"), digest.toString("base64")]);
  const telltales = given.some((value) => includesAny(value, forms)) ? [] : forms;
  return secret.length < MIN_SECRET_LENGTH ? telltales : [...telltales, secret];
}

/** Whether an answer contains one of them, in its reason phrase, headers or body. */
export function tells(answer: Answer | undefined, telltales: readonly string[]): boolean {
  if (answer === undefined) return false;
  return includesAny(`${answer.reason}\n${answer.headers}${answer.body}`, telltales);
}

/** In upper and lower case. */
function includesAny(text: string, parts: readonly string[]): boolean {
  const lower = text.toLowerCase();
  return parts.some((part) => lower.includes(part.toLowerCase()));
}

/** The form over which a receiver computes its digest when it signs the parsed body again (spec 5.1). */
function rewritten(body: Uint8Array): string[] {
  try {
    return [JSON.stringify(JSON.parse(Buffer.from(body).toString("utf8")))];
  } catch {
    return [];
  }
}
