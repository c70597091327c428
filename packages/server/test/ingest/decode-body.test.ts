import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { decodeBody } from "../../src/ingest/decode-body.ts";

const LIMIT = 1_000;
const json = Buffer.from('{"a":"é","__proto__":{"x":1}}');

const codeOf = async (bytes: Buffer, encoding?: string): Promise<string | undefined> => {
  const decoded = await decodeBody(bytes, encoding, LIMIT);
  return decoded.ok ? undefined : decoded.refusal.code;
};

describe("decodeBody", () => {
  it.each([
    ["plain", json, undefined],
    ["identity", json, "identity"],
    ["gzip", gzipSync(json), "gzip"],
    ["GZIP in capitals", gzipSync(json), " GZIP "],
    ["a byte order mark", Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), json]), undefined],
  ])("decodes %s", async (_title, bytes, encoding) => {
    const decoded = await decodeBody(bytes, encoding, LIMIT);
    expect(decoded).toMatchObject({ ok: true, value: JSON.parse(json.toString()) });
  });

  it.each([
    ["truncated gzip", gzipSync(json).subarray(0, 20), "gzip", "invalid_gzip"],
    ["gzip that is none", json, "gzip", "invalid_gzip"],
    ["an empty gzip body", Buffer.alloc(0), "gzip", "invalid_gzip"],
    ["a gzip bomb", gzipSync(Buffer.alloc(50_000_000)), "gzip", "payload_too_large"],
    ["one byte too many", Buffer.from(`"${"a".repeat(LIMIT - 1)}"`), undefined, "payload_too_large"],
    ["deflate", json, "deflate", "unsupported_encoding"],
    ["two encodings", gzipSync(gzipSync(json)), "gzip, gzip", "unsupported_encoding"],
    ["gzip without the header", gzipSync(json), undefined, "invalid_json"],
    ["no body", Buffer.alloc(0), undefined, "invalid_json"],
    ["half of JSON", json.subarray(0, 9), undefined, "invalid_json"],
    ["a form", Buffer.from("a=1&b=2"), undefined, "invalid_json"],
    ["invalid UTF-8", Buffer.from([0x22, 0xff, 0x22]), undefined, "invalid_json"],
  ])("refuses %s", async (_title, bytes, encoding, code) => {
    expect(await codeOf(bytes, encoding)).toBe(code);
  });

  it("takes a body of exactly the limit", async () => {
    expect(await codeOf(Buffer.from(`"${"a".repeat(LIMIT - 2)}"`))).toBeUndefined();
  });
});
