import { sign, verifyWebhook, WebhookError } from "@countersign/core";
import { diagnose } from "@countersign/core/diagnose";

/** What the signature bench shows for a secret, a body and a signature. */
export interface Findings {
  readonly verdict: "verified" | "rejected" | "incomplete";
  /** One sentence for the heading. */
  readonly title: string;
  /** What to do about it. */
  readonly details: readonly string[];
  /** The signature of the body as it is. */
  readonly expected: string;
  /** The bytes that were signed, as hex, with their characters; the first 256. */
  readonly bytes: readonly { readonly hex: string; readonly text: string }[];
  readonly length: number;
}

const MAX_SHOWN_BYTES = 256;

/** Verifies a body as a receiver would, and explains the verdict. Runs in the browser; nothing is sent anywhere. */
export function takeApart(secret: string, body: string, signature: string): Findings {
  const bytes = new TextEncoder().encode(body);
  const shown = Array.from(bytes.subarray(0, MAX_SHOWN_BYTES), (byte) => ({
    hex: byte.toString(16).padStart(2, "0"),
    text: byte > 32 && byte < 127 ? String.fromCharCode(byte) : "\u00B7",
  }));
  const common = { bytes: shown, length: bytes.length };
  if (secret.trim() === "") {
    return { verdict: "incomplete", title: "Enter the secret.", details: [], expected: "", ...common };
  }
  const expected = sign(body, secret);
  if (signature.trim() === "") {
    return {
      verdict: "incomplete",
      title: "Enter the signature to compare.",
      details: [],
      expected,
      ...common,
    };
  }
  return { ...judge(secret, body, signature), expected, ...common };
}

function judge(
  secret: string,
  body: string,
  signature: string,
): Pick<Findings, "verdict" | "title" | "details"> {
  try {
    const { message, verifiedOver } = verifyWebhook({ body, signature, secret });
    const over =
      verifiedOver === "bytes" ? "the exact bytes" : "the JSON, serialised again by JSON.stringify";
    return {
      verdict: "verified",
      title: `Verified: a ${message.type} message.`,
      details: [`The signature covers ${over}.`],
    };
  } catch (error) {
    if (!(error instanceof WebhookError)) throw error;
    const causes = diagnose({ body, signature, secret }).map(({ message }) => message);
    const details =
      causes.length > 0
        ? causes
        : [error.hint ?? "None of the usual causes applies. Most likely the sender has another secret."];
    return { verdict: "rejected", title: `${error.code}: ${error.message}`, details };
  }
}
