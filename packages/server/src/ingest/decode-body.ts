import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { codeOf, parseJson } from "@countersign/protocol";
import { readIntegers, type ReadIntegers } from "./read-integers.ts";
import { refusal, type Refusal, type Refused } from "./refusal.ts";

const inflate = promisify(gunzip);
const utf8 = new TextDecoder("utf-8", { fatal: true });

/** The JSON of a request body with its size when inflated, or the reason why it cannot be read. */
export type DecodedBody = ({ readonly ok: true; readonly bytes: number } & ReadIntegers) | Refused;

/** What the header may name besides `identity`. */
export const GZIP: readonly string[] = ["gzip", "x-gzip"];

/** No byte of gzip becomes more: 258 bytes can be written with two bits. */
const MAX_INFLATION = 1_032;

/** The most bytes that a body can have when inflated, as far as {@link decodeBody} inflates it. */
export function mostDecodedBytes(
  { length }: Buffer,
  contentEncoding: string | undefined,
  maxBytes: number,
): number {
  return Math.min(maxBytes, contentEncoding === undefined ? length : length * MAX_INFLATION);
}

/**
 * Turns the bytes of a request into its JSON value, whatever content type it claims.
 *
 * @param bytes The body as received, still compressed.
 * @param contentEncoding The header: nothing, `identity` or `gzip`.
 * @param maxBytes The most that the body may have once inflated; inflation stops there, so a bomb costs no more.
 */
export async function decodeBody(
  bytes: Buffer,
  contentEncoding: string | undefined,
  maxBytes: number,
): Promise<DecodedBody> {
  const plain = await decompress(bytes, contentEncoding?.trim().toLowerCase() || "identity", maxBytes);
  if (!Buffer.isBuffer(plain)) return { ok: false, refusal: plain };
  if (plain.length > maxBytes)
    return { ok: false, refusal: refusal("payload_too_large", `The limit is ${maxBytes} bytes.`) };
  try {
    const text = utf8.decode(plain);
    return { ok: true, bytes: plain.length, ...(await readIntegers(text, parseJson(text))) };
  } catch (error) {
    const detail = error instanceof SyntaxError ? error.message : "The body is not valid UTF-8.";
    return { ok: false, refusal: refusal("invalid_json", detail) };
  }
}

async function decompress(bytes: Buffer, encoding: string, maxBytes: number): Promise<Buffer | Refusal> {
  if (encoding === "identity") return bytes;
  if (!GZIP.includes(encoding)) {
    return refusal(
      "unsupported_encoding",
      "Send the body without Content-Encoding, or with Content-Encoding: gzip.",
    );
  }
  try {
    return await inflate(bytes, { maxOutputLength: maxBytes });
  } catch (error) {
    if (codeOf(error) === "ERR_BUFFER_TOO_LARGE")
      return refusal("payload_too_large", `The limit is ${maxBytes} bytes after inflation.`);
    return refusal("invalid_gzip", "The body is declared as gzip, but is truncated or damaged.");
  }
}
