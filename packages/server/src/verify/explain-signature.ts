import { verifySignature } from "@countersign/core";
import { diagnose, type Diagnosis } from "@countersign/core/diagnose";

/** The input of {@link explainSignature}. */
export interface ExplainInput {
  /** The exact bytes of the body. */
  readonly body: Uint8Array;
  /** The `X-Signature` header. */
  readonly signature: string;
  /** The shared secret. */
  readonly secret: string;
}

/** Why a signature matches or does not. */
export interface Explanation {
  readonly matches: boolean;
  /** One sentence for a person, with what to do when it does not match. */
  readonly sentence: string;
  /** The causes that together explain a mismatch. */
  readonly diagnoses: readonly Diagnosis[];
}

/**
 * Says in one sentence why a signature does, or does not, match a body (spec 5.1).
 *
 * @throws TypeError when the secret is empty.
 * @example
 * ```ts
 * const signature = "cfc8098c2e5655c926d75e61f3e90d09222286e4";
 * const { sentence } = explainSignature({ body: Buffer.from("{}"), signature, secret: "dev" });
 * ```
 */
export function explainSignature({ body, signature, secret }: ExplainInput): Explanation {
  const result = verifySignature(body, signature, secret);
  if (result.ok) {
    const sentence =
      result.verifiedOver === "bytes"
        ? "The signature matches the exact bytes of the body."
        : "The signature matches the body as JSON.stringify writes it again. These are not the exact bytes that were signed: other spaces, escapes or numbers. Receivers of Countersign accept this unless they are strict; a check of the exact bytes does not.";
    return { matches: true, sentence, diagnoses: [] };
  }
  const diagnoses = diagnose({ body, signature, secret });
  const sentence = diagnoses.map(({ message }) => message).join(" ");
  return { matches: false, sentence: sentence || unexplained(result.code, body), diagnoses };
}

function unexplained(code: string, body: Uint8Array): string {
  if (code === "ERR_SIGNATURE_MISSING")
    return "The signature is empty. Pass the value of the X-Signature header.";
  if (code === "ERR_SIGNATURE_MALFORMED") {
    return "The signature is neither 40 hex digits nor any other form of a digest. Pass the value of the X-Signature header.";
  }
  if (body.length === 0) {
    return "The body is empty, and no message is. Something had read it before: take the bytes before anything parses it.";
  }
  return "With this secret, the signature matches neither this body nor a usual variation of it. Compare the secret with the sender's. If they are equal, this is not the body that was signed: something has changed its bytes.";
}
