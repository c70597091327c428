import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";
import { sign } from "@countersign/core";
import { diagnose, type DiagnoseInput, type DiagnosisCode } from "@countersign/core/diagnose";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { diagnoseForm } from "../src/verification/diagnose-signature.ts";

const SECRET = "s3cret";
const BODY = '{"type":"track","userId":"u-1","event":"e","properties":{"n":1}}';
const sha256 = (text: string, key = SECRET): Buffer => createHmac("sha256", key).update(text).digest();
const codes = (input: Partial<DiagnoseInput>): DiagnosisCode[] =>
  diagnose({ body: BODY, signature: undefined, secret: SECRET, ...input }).map(({ code }) => code);

const named: [code: DiagnosisCode, how: string, input: Partial<DiagnoseInput>][] = [
  [
    "secret-white-space",
    "the receiver's secret ends in a newline",
    { secret: `${SECRET}\n`, signature: sign(BODY, SECRET) },
  ],
  [
    "secret-white-space",
    "the receiver's secret is indented",
    { secret: `  ${SECRET}`, signature: sign(BODY, SECRET) },
  ],
  ["secret-white-space", "the sender's secret ends in a newline", { signature: sign(BODY, `${SECRET}\n`) }],
  ["secret-white-space", "the sender's secret ends in CRLF", { signature: sign(BODY, `${SECRET}\r\n`) }],
  ["secret-white-space", "the sender's secret ends in a space", { signature: sign(BODY, `${SECRET} `) }],
  ["secret-quotes", "the sender's secret has quotes", { signature: sign(BODY, `"${SECRET}"`) }],
  ["secret-quotes", "the sender's secret has single quotes", { signature: sign(BODY, `'${SECRET}'`) }],
  ["secret-quotes", "our secret has quotes", { signature: sign(BODY, SECRET), secret: `"${SECRET}"` }],
  ["secret-white-space", "the sender's secret begins with a space", { signature: sign(BODY, ` ${SECRET}`) }],
  [
    "secret-white-space",
    "the second secret of a list has it",
    { secret: ["a", `${SECRET} `], signature: sign(BODY, SECRET) },
  ],
  [
    "empty-secret",
    "the sender's secret is empty",
    { signature: createHmac("sha1", "").update(BODY).digest("hex") },
  ],
  [
    "retired-secret",
    "the sender has an older secret",
    { retiredSecrets: ["older", "old"], signature: sign(BODY, "old") },
  ],
  ["prefixed-signature", "sha1=", { signature: `sha1=${sign(BODY, SECRET)}` }],
  ["prefixed-signature", "SHA-1: and a space", { signature: `SHA-1: ${sign(BODY, SECRET)}` }],
  ["prefixed-signature", "white space around all of it", { signature: ` sha1=${sign(BODY, SECRET)}\n` }],
  ["prefixed-signature", "hmac-sha1=", { signature: `hmac-sha1=${sign(BODY, SECRET)}` }],
  ["sha256", "hex", { signature: sha256(BODY).toString("hex") }],
  ["base64", "padded", { signature: Buffer.from(sign(BODY, SECRET), "hex").toString("base64") }],
  ["base64", "for URLs", { signature: Buffer.from(sign(BODY, SECRET), "hex").toString("base64url") }],
  [
    "re-serialized",
    "the body was re-spaced",
    { body: JSON.stringify(JSON.parse(BODY), null, 1), signature: sign(BODY, SECRET) },
  ],
  [
    "pretty-printed",
    "the sender signs it pretty",
    { signature: sign(JSON.stringify(JSON.parse(BODY), null, 2), SECRET) },
  ],
  ["trailing-newline", "the sender signs one more", { signature: sign(`${BODY}\n`, SECRET) }],
  ["trailing-newline", "the sender signs one more, of Windows", { signature: sign(`${BODY}\r\n`, SECRET) }],
  ["trailing-newline", "the body has one more", { body: "not JSON\n", signature: sign("not JSON", SECRET) }],
  ["first-of-array", "a batch", { body: `[${BODY},{"type":"page"}]`, signature: sign(BODY, SECRET) }],
  [
    "serialized-bytes",
    "a Buffer is serialised",
    { body: JSON.stringify(Buffer.from(BODY)), signature: sign(BODY, SECRET) },
  ],
  [
    "serialized-bytes",
    "a Uint8Array is serialised",
    { body: JSON.stringify(Uint8Array.from(Buffer.from(BODY))), signature: sign(BODY, SECRET) },
  ],
  ["empty-body", "the sender signs nothing", { signature: sign("", SECRET) }],
  ["empty-body", "the body is not UTF-8", { body: Uint8Array.of(0xff), signature: sign("", SECRET) }],
];

describe("diagnose", () => {
  it.each(named)("names %s, and only it: %s", (code, _how, input) => {
    expect(codes(input)).toEqual([code]);
  });

  it("has a test of every hypothesis, and a sentence on what to change", () => {
    const all = new Set(named.map(([code]) => code));
    expect(all.size).toBe(13);
    for (const [, , input] of named) {
      const [diagnosis] = diagnose({ body: BODY, signature: undefined, secret: SECRET, ...input });
      expect(diagnosis?.message).toMatch(/^The signature .+\. .+\.$|^The signature .+, such as .+\. .+\.$/);
      expect(diagnosis?.message).not.toContain(SECRET);
    }
  });

  it.each([
    [
      "prefix and SHA-256",
      { signature: `sha256=${sha256(BODY).toString("hex")}` },
      ["prefixed-signature", "sha256"],
    ],
    ["SHA-256 and base64", { signature: sha256(BODY).toString("base64") }, ["sha256", "base64"]],
    [
      "SHA-256 over pretty JSON",
      { signature: sha256(JSON.stringify(JSON.parse(BODY), null, 2)).toString("hex") },
      ["sha256", "pretty-printed"],
    ],
    [
      "prefix and an old secret",
      { retiredSecrets: ["old"], signature: `sha1=${sign(BODY, "old")}` },
      ["prefixed-signature", "retired-secret"],
    ],
  ] as [string, Partial<DiagnoseInput>, DiagnosisCode[]][])(
    "names several that meet: %s",
    (_case, input, expected) => {
      expect(codes(input)).toEqual(expected);
    },
  );

  it.each([
    ["a signature that matches", sign(BODY, SECRET)],
    ["the same in capitals", sign(BODY, SECRET).toUpperCase()],
    ["another secret", sign(BODY, "another")],
    ["another body", sign("{}", SECRET)],
    ["no signature", undefined],
    ["an empty one", ""],
    ["an empty list", []],
    ["no signature at all", "hello"],
    ["40 KB", "a".repeat(40_960)],
    ["something that is no text", { toString: () => sign(BODY, SECRET) } as unknown as string],
    ["a list of something that is no text", [42] as unknown as string[]],
  ])("names nothing for %s", (_case, signature) => {
    expect(codes({ signature })).toEqual([]);
  });

  it("finds no cause for random signatures of any form", () => {
    const digest = fc.oneof(
      fc.uint8Array({ minLength: 20, maxLength: 20 }),
      fc.uint8Array({ minLength: 32, maxLength: 32 }),
    );
    const encoding = fc.constantFrom("hex", "base64", "base64url");
    const prefix = fc.constantFrom("", "sha1=", "sha256=");
    fc.assert(
      fc.property(fc.json(), digest, encoding, prefix, (body, digest, encoding, prefix) => {
        const signature = prefix + Buffer.from(digest).toString(encoding);
        expect(diagnose({ body, signature, secret: SECRET, retiredSecrets: ["old"] })).toEqual([]);
      }),
    );
  });

  it("names the secret's white space for any body and secret", () => {
    const text = fc.string({ minLength: 1 }).filter((text) => text.trim() === text && text !== "");
    fc.assert(
      fc.property(fc.string(), text, fc.constantFrom("\n", "\r\n", " "), (body, secret, end) => {
        const signature = sign(body, secret + end);
        expect(diagnose({ body, signature, secret }).map(({ code }) => code)).toEqual(["secret-white-space"]);
      }),
    );
  });

  it.each([
    ["an empty secret", { secret: "" }],
    ["a parsed body", { body: {} as string }],
  ])("throws a TypeError for %s", (_case, input) => {
    expect(() => codes({ signature: sign(BODY, SECRET), ...input })).toThrow(TypeError);
  });
});

describe("the cost of a diagnosis", () => {
  const signature = "0".repeat(40);

  it("is empty for a body of more than 64 KiB", () => {
    const large = `"${"a".repeat(65_536)}"`;
    expect(codes({ body: large, signature: sign(JSON.stringify(JSON.parse(large)), `${SECRET} `) })).toEqual(
      [],
    );
    const within = `"${"a".repeat(65_534)}"`;
    expect(codes({ body: within, signature: sign(within, `${SECRET} `) })).toEqual(["secret-white-space"]);
  });

  it.each([33, 1_000, 3_000, 30_000])(
    "stays small for %i nested arrays, whose indentation would be many times the body",
    (depth) => {
      const fill = Math.floor((65_000 - 2 * depth) / 2);
      const body = `${"[".repeat(depth)}${"1,".repeat(fill)}1${"]".repeat(depth)}`;
      const stringify = vi.spyOn(JSON, "stringify");
      expect(codes({ body, signature })).toEqual([]);
      const written = stringify.mock.results.map(({ value }) =>
        typeof value === "string" ? value.length : 0,
      );
      stringify.mockRestore();
      expect(Math.max(0, ...written)).toBeLessThanOrEqual(body.length);
    },
  );
});

describe("diagnoseForm", () => {
  it.each([
    ["sha1=", `sha1=${"0".repeat(40)}`, ["prefixed-signature"]],
    ["SHA-256", "0".repeat(64), ["sha256"]],
    ["base64", Buffer.alloc(20).toString("base64"), ["base64"]],
    ["nothing known", "hello", []],
    ["nothing", undefined, []],
  ])("names %s without a body", (_case, signature, expected) => {
    expect(diagnoseForm(signature).map(({ code }) => code)).toEqual(expected);
  });
});
