import { readFileSync } from "node:fs";
import { verifySignature } from "@countersign/core";
import rfc from "@countersign/core/vectors.json" with { type: "json" };
import { describe, expect, it } from "vitest";
import * as onNode from "../../packages/core/src/platform-node.ts";
import * as portable from "../../packages/core/src/platform-portable.ts";
import own from "./vectors/hmac-sha1.json" with { type: "json" };

/** A key, a message, a tag (all in hex), and whether the tag is the HMAC-SHA1 of the message. */
interface Case {
  readonly comment: string;
  readonly key: string;
  readonly message: string;
  readonly tag: string;
  readonly result: string;
}

interface Vector {
  readonly name: string;
  readonly secret?: string;
  readonly keyHex?: string;
  readonly body?: string;
  readonly bodyHex?: string;
  readonly signature: string;
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const bytes = (text: string): Buffer => Buffer.from(text, "hex");
const toHex = (text: string | undefined, inHex: string | undefined): string =>
  text === undefined ? (inHex ?? "") : hex(Buffer.from(text));

/** RFC 2202, section 3: the seven cases of HMAC-SHA1, which core's vectors hold; and the 96-bit tag of its case 5. */
const rfcCases: readonly Case[] = (rfc.vectors as readonly Vector[])
  .filter(({ name }) => name.startsWith("RFC 2202"))
  .flatMap(({ name, secret, keyHex, body, bodyHex, signature }) => {
    const full = { comment: name, key: toHex(secret, keyHex), message: toHex(body, bodyHex), tag: signature };
    const truncated = { ...full, comment: `${name}, the tag cut to 96 bits`, tag: signature.slice(0, 24) };
    return [
      { ...full, result: "valid" },
      { ...truncated, result: "invalid" },
    ];
  });

interface WycheproofFile {
  readonly testGroups: readonly {
    readonly tagSize: number;
    readonly tests: readonly {
      readonly tcId: number;
      readonly comment: string;
      readonly key: string;
      readonly msg: string;
      readonly tag: string;
      readonly result: string;
    }[];
  }[];
}

/**
 * Project Wycheproof's cases (C2SP/wycheproof, testvectors_v1/hmac_sha1_test.json), where WYCHEPROOF_HMAC_SHA1 names the
 * file. It calls a truncated tag valid in the groups for truncated tags. Here, only all 160 bits are a signature.
 */
function wycheproofCases(file: string): readonly Case[] {
  const { testGroups } = JSON.parse(readFileSync(file, "utf8")) as WycheproofFile;
  return testGroups.flatMap(({ tagSize, tests }) =>
    tests.map(({ tcId, comment, key, msg, tag, result }) => ({
      comment: `${tcId}, ${tagSize} bits: ${comment}`,
      key,
      message: msg,
      tag,
      result: tagSize === 160 ? result : "invalid",
    })),
  );
}

const file = process.env["WYCHEPROOF_HMAC_SHA1"];
const sources: readonly (readonly [source: string, cases: readonly Case[], least: number])[] = [
  ["RFC 2202", rfcCases, 14],
  ["our own cases", own.cases, 350],
  ...(file === undefined ? [] : [["Wycheproof", wycheproofCases(file), 100] as const]),
];

describe.each(sources)("HMAC-SHA1 by %s", (_source, cases, least) => {
  it("has valid and invalid tags enough", () => {
    expect(cases.length).toBeGreaterThanOrEqual(least);
    expect(new Set(cases.map(({ result }) => result))).toEqual(new Set(["valid", "invalid"]));
  });

  it.each([
    ["node:crypto", onNode],
    ["plain JavaScript", portable],
  ])("accepts the full tags and refuses all others on %s", (_name, { hmac, equalDigests }) => {
    for (const { comment, key, message, tag, result } of cases) {
      const computed = hmac("sha1", bytes(key), bytes(message));
      expect([comment, equalDigests(computed, bytes(tag)) ? "valid" : "invalid"]).toEqual([comment, result]);
      expect([comment, hex(computed) === tag]).toEqual([comment, result === "valid"]);
    }
  });

  it("agrees with verifySignature(), wherever the key is text", () => {
    let checked = 0;
    for (const { comment, key, message, tag, result } of cases) {
      const secret = bytes(key).toString("utf8");
      if (hex(Buffer.from(secret)) !== key) continue;
      checked += 1;
      const { ok } = verifySignature(bytes(message), tag, secret, { strict: true });
      expect([comment, ok]).toEqual([comment, result === "valid"]);
    }
    if (cases !== sources[2]?.[1]) expect(checked).toBeGreaterThan(5);
  });
});
