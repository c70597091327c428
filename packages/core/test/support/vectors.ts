import { Buffer } from "node:buffer";
import file from "@countersign/core/vectors.json" with { type: "json" };

interface StoredVector {
  readonly name: string;
  readonly secret?: string;
  readonly keyHex?: string;
  readonly body?: string;
  readonly bodyHex?: string;
  readonly signature: string;
}

export interface Vector {
  readonly name: string;
  /** Undefined if the key is not UTF-8 text: such a vector tests only the hash function. */
  readonly secret: string | undefined;
  readonly key: Uint8Array;
  /** Undefined where the body is not UTF-8. */
  readonly text: string | undefined;
  readonly body: Uint8Array;
  readonly signature: string;
}

const stored: readonly StoredVector[] = file.vectors;

export const vectors: readonly Vector[] = stored.map(
  ({ name, secret, keyHex, body, bodyHex, signature }) => ({
    name,
    secret,
    key: bytes(secret, keyHex),
    text: body,
    body: bytes(body, bodyHex),
    signature,
  }),
);

function bytes(text: string | undefined, hex: string | undefined): Uint8Array {
  return text === undefined ? Buffer.from(hex ?? "", "hex") : Buffer.from(text);
}
