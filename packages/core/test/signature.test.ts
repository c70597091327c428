import { Buffer } from "node:buffer";
import { sign, verifySignature } from "@countersign/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { vectors } from "./support/vectors.ts";

const SECRET = "secret";
const BODY = '{"type":"track","userId":"u-1","event":"Order Completed"}';
const signature = sign(BODY, SECRET);
const aSecret = fc.string({ minLength: 1, unit: "binary" });
const aBody = fc.oneof(fc.uint8Array(), fc.string({ unit: "binary" }));

const MISMATCH = { ok: false, code: "ERR_SIGNATURE_MISMATCH" };
const MALFORMED = { ok: false, code: "ERR_SIGNATURE_MALFORMED" };
const MISSING = { ok: false, code: "ERR_SIGNATURE_MISSING" };
const MATCHES = { ok: true, secretIndex: 0, verifiedOver: "bytes" };

describe("sign", () => {
  const texts = vectors.filter(({ secret }) => secret !== undefined);

  it.each(texts)("$name", ({ secret = "", body, text, signature }) => {
    expect(sign(body, secret)).toBe(signature);
    if (text !== undefined) expect(sign(text, secret)).toBe(signature);
    expect(verifySignature(body, signature, secret)).toEqual(MATCHES);
  });

  it("takes the exact bytes of a view into a larger buffer", () => {
    const larger = Buffer.from(`before${BODY}after`);
    expect(sign(larger.subarray(6, 6 + BODY.length), SECRET)).toBe(signature);
  });

  it.each([
    ["an empty secret", BODY, "", "The secret must be a non-empty string, but is empty."],
    ["no secret", BODY, undefined, "The secret must be a non-empty string, but is undefined."],
    [
      "a parsed body",
      { type: "track" },
      SECRET,
      "The body must be the exact bytes or text that was sent, but is an object.",
    ],
    ["no body", null, SECRET, "The body must be the exact bytes or text that was sent, but is null."],
  ])("refuses %s with a TypeError", (_case, body, secret, message) => {
    // What JavaScript may pass; the types forbid it.
    const call = (): string => sign(body as string, secret as string);
    expect(call).toThrow(TypeError);
    expect(call).toThrow(message);
  });
});

describe("verifySignature", () => {
  it("accepts whatever sign made, for any secret and body", () => {
    fc.assert(
      fc.property(aBody, aSecret, (body, secret) => {
        expect(verifySignature(body, sign(body, secret), secret)).toEqual(MATCHES);
        expect(verifySignature(body, sign(body, secret), secret, { strict: true })).toEqual(MATCHES);
      }),
    );
  });

  it("refuses a body that differs in a single bit", () => {
    const bytes = fc.uint8Array({ minLength: 1 });
    fc.assert(
      fc.property(bytes, aSecret, fc.nat(), (body, secret, anyBit) => {
        const changed = Uint8Array.from(body);
        const bit = anyBit % (body.length * 8);
        changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        expect(verifySignature(changed, sign(body, secret), secret, { strict: true })).toEqual(MISMATCH);
      }),
    );
  });

  it("refuses a signature that differs in a single bit", () => {
    for (let bit = 0; bit < 160; bit++) {
      const changed = Buffer.from(signature, "hex");
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(verifySignature(BODY, changed.toString("hex"), SECRET)).toEqual(MISMATCH);
    }
  });

  it("refuses the signature of another secret", () => {
    fc.assert(
      fc.property(aBody, aSecret, aSecret, (body, secret, other) => {
        // HMAC fills a key up with zero bytes (RFC 2104), so a secret and the same one with more of them are one key.
        fc.pre(secret.replace(/\0+$/, "") !== other.replace(/\0+$/, ""));
        expect(verifySignature(body, sign(body, other), secret, { strict: true }).ok).toBe(false);
      }),
    );
  });
});

describe("the X-Signature header", () => {
  it.each([
    ["lower case", signature],
    ["upper case", signature.toUpperCase()],
    ["mixed case", signature.slice(0, 20).toUpperCase() + signature.slice(20)],
    ["a list of one", [signature]],
  ])("may be in %s", (_case, header) => {
    expect(verifySignature(BODY, header, SECRET)).toEqual(MATCHES);
  });

  it.each([
    ["undefined", undefined],
    ["null", null],
    ["empty", ""],
    ["an empty list", []],
    ["a list of an empty text", [""]],
  ])("is missing when %s", (_case, header) => {
    expect(verifySignature(BODY, header, SECRET)).toEqual(MISSING);
  });

  it.each([
    ["a digit short", signature.slice(1)],
    ["a digit long", `${signature}0`],
    ["not hex", `g${signature.slice(1)}`],
    ["prefixed", `sha1=${signature}`],
    ["SHA-256", "a".repeat(64)],
    ["base64", Buffer.from(signature, "hex").toString("base64")],
    ["surrounded by space", ` ${signature}`],
    ["followed by a newline", `${signature}\n`],
    ["Latin-1 of the right length", "\u00e9".repeat(40)],
    ["full-width digits", "\uff11".repeat(40)],
    ["zero bytes", "\0".repeat(40)],
    ["10 KB", "a".repeat(10_240)],
    ["repeated", [signature, signature]],
    ["repeated and joined", `${signature}, ${signature}`],
  ])("is malformed when %s", (_case, header) => {
    expect(verifySignature(BODY, header, SECRET)).toEqual(MALFORMED);
  });

  it("never throws for anything a platform may put there", () => {
    fc.assert(
      fc.property(fc.anything(), (header) => {
        const result = verifySignature(BODY, header as string, SECRET);
        expect(result.ok).toBe(false);
      }),
    );
    // An object that would read as the right digits, if it were taken for text.
    const lookalike = { toString: () => signature, length: 1, 0: signature };
    expect(verifySignature(BODY, lookalike as unknown as string, SECRET)).toEqual(MALFORMED);
    expect(verifySignature(BODY, [[signature]] as unknown as string, SECRET)).toEqual(MALFORMED);
  });
});

describe("several secrets", () => {
  it("tells which of them matched", () => {
    const secrets = ["new", "current", "old"];
    for (const [secretIndex, secret] of secrets.entries()) {
      expect(verifySignature(BODY, sign(BODY, secret), secrets)).toEqual({ ...MATCHES, secretIndex });
    }
    expect(verifySignature(BODY, sign(BODY, "retired"), secrets)).toEqual(MISMATCH);
  });

  it("prefers the exact bytes by any of them to the re-serialised body by an earlier one", () => {
    const spaced = "{ }";
    expect(verifySignature(spaced, sign(spaced, "b"), ["a", "b"])).toEqual({ ...MATCHES, secretIndex: 1 });
    expect(verifySignature(spaced, sign("{}", "b"), ["a", "b"])).toEqual({
      ok: true,
      secretIndex: 1,
      verifiedOver: "json",
    });
  });

  it.each([
    ["an empty list", []],
    ["an empty secret in it", ["good", ""]],
    ["something else in it", ["good", undefined]],
    ["no list at all", 42],
    ["nothing", undefined],
  ])("refuses %s with a TypeError, before it looks at the signature", (_case, secrets) => {
    expect(() => verifySignature(BODY, undefined, secrets as string[])).toThrow(TypeError);
    expect(() => verifySignature(BODY, sign(BODY, "good"), secrets as string[])).toThrow(/secret must be/);
  });
});

describe("re-serialised JSON", () => {
  const viaJson = { ok: true, secretIndex: 0, verifiedOver: "json" };

  it.each([
    ["re-spaced", JSON.stringify(JSON.parse(BODY), null, 2)],
    ["followed by a newline", `${BODY}\n`],
    ["escaped where it need not be", BODY.replace("track", "\\u0074rack")],
  ])("verifies when %s, unless strict", (_case, received) => {
    expect(verifySignature(received, signature, SECRET)).toEqual(viaJson);
    expect(verifySignature(received, signature, SECRET, { strict: true })).toEqual(MISMATCH);
  });

  it("verifies any JSON that was re-spaced on its way", () => {
    const space = fc.constantFrom(1, 2, 4, "\t", " ");
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), space, (value, space) => {
        const sent = JSON.stringify(value);
        expect(verifySignature(JSON.stringify(value, null, space), sign(sent, SECRET), SECRET).ok).toBe(true);
      }),
    );
  });

  it("keeps a key named __proto__ where it is", () => {
    const sent = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}';
    expect(verifySignature(sent.replaceAll(":", " : "), sign(sent, SECRET), SECRET)).toEqual(viaJson);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it.each([
    ["a number changed", '{"total":1}', '{"total":10}'],
    ["a key added", '{"a":1}', '{"a":1,"b":2}'],
    ["keys reordered", '{"a":1,"b":2}', '{"b":2,"a":1}'],
    ["a byte order mark before it", "{}", "\ufeff{}"],
  ])("does not verify with %s", (_case, sent, received) => {
    expect(verifySignature(received, sign(sent, SECRET), SECRET)).toEqual(MISMATCH);
  });
});

describe("a hostile body", () => {
  const deep = 500_000;
  it.each([
    ["500,000 brackets deep", "[".repeat(deep) + "]".repeat(deep)],
    ["500,000 objects deep", '{"a":'.repeat(deep) + "1" + "}".repeat(deep)],
    ["500,000 brackets never closed", "[".repeat(deep)],
    ["not JSON", "<xml/>"],
    ["not UTF-8", Uint8Array.of(0xc3, 0x28)],
    ["empty", ""],
  ])("%s is a mismatch, and no exception", (_case, body) => {
    expect(verifySignature(body, signature, SECRET)).toEqual(MISMATCH);
    expect(verifySignature(body, sign(body, SECRET), SECRET)).toEqual(MATCHES);
  });

  it("never throws, whatever the bytes", () => {
    fc.assert(
      fc.property(aBody, (body) => {
        expect(verifySignature(body, signature, SECRET)).toEqual(MISMATCH);
      }),
    );
  });
});
