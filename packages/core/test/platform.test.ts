import { Buffer } from "node:buffer";
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as viaNode from "../src/platform-node.ts";
import * as portable from "../src/platform-portable.ts";
import { vectors } from "./support/vectors.ts";

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

describe.each([
  ["node:crypto", viaNode],
  ["plain JavaScript", portable],
])("HMAC by %s", (_name, { hmac, equalDigests }) => {
  it.each(vectors)("$name", ({ key, body, signature }) => {
    expect(hex(hmac("sha1", key, body))).toBe(signature);
  });

  it("knows SHA-256, too (RFC 4231, case 2)", () => {
    const digest = hmac("sha256", Buffer.from("Jefe"), Buffer.from("what do ya want for nothing?"));
    expect(hex(digest)).toBe("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  });

  it("finds digests equal only if every byte is", () => {
    const digest = fc.uint8Array({ minLength: 20, maxLength: 20 });
    fc.assert(
      fc.property(digest, fc.nat(159), (a, bit) => {
        const b = Uint8Array.from(a);
        expect(equalDigests(a, b)).toBe(true);
        b[bit >> 3] = (b[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        expect(equalDigests(a, b)).toBe(false);
      }),
    );
  });

  it("finds digests of different length different, whichever is shorter", () => {
    const [long, short] = [new Uint8Array(32), new Uint8Array(20)];
    expect(equalDigests(long, short)).toBe(false);
    expect(equalDigests(short, long)).toBe(false);
    expect(equalDigests(new Uint8Array(0), short)).toBe(false);
  });
});

it("gives the same digest by node:crypto and in plain JavaScript, for any key and body", () => {
  const key = fc.uint8Array({ minLength: 1, maxLength: 200 });
  const body = fc.uint8Array({ maxLength: 2_000 });
  fc.assert(
    fc.property(fc.constantFrom("sha1", "sha256"), key, body, (hash, key, body) => {
      expect(hex(portable.hmac(hash, key, body))).toBe(hex(viaNode.hmac(hash, key, body)));
    }),
  );
});

it("knows a signature by node:crypto as in plain JavaScript: any body and secret, also longer than a block", () => {
  // The first body is longer than the second, which must not be hashed with what is left of it.
  const bodies = fc.tuple(
    fc.uint8Array({ minLength: 301, maxLength: 600 }),
    fc.uint8Array({ maxLength: 300 }),
  );
  fc.assert(
    fc.property(
      fc.string({ minLength: 1, maxLength: 200, unit: "binary" }),
      bodies,
      fc.nat(159),
      (secret, both, bit) => {
        for (const body of both) {
          const digest = Buffer.from(portable.hmac("sha1", secret, body));
          expect(viaNode.isSignedWith(secret, body, digest.toString("hex"))).toBe(true);
          digest[bit >> 3] = (digest[bit >> 3] ?? 0) ^ (1 << (bit & 7));
          expect(viaNode.isSignedWith(secret, body, digest.toString("hex"))).toBe(false);
        }
      },
    ),
  );
});

it.each([0, 8_191, 8_192, 8_193, 100_000])("knows the signature of a body of %i bytes", (length) => {
  const body = new Uint8Array(length).fill(0x61);
  const signature = hex(portable.hmac("sha1", "secret", body));
  expect(viaNode.isSignedWith("secret", body, signature)).toBe(true);
  expect(viaNode.isSignedWith("secret", new Uint8Array(length + 1).fill(0x61), signature)).toBe(false);
});

describe("the implementation a runtime is given", () => {
  const root = fileURLToPath(new URL("..", import.meta.url));
  // In a process of its own: the runner of these tests has its own resolution.
  const resolved = (...conditions: string[]): string =>
    execFileSync(
      process.execPath,
      [
        ...conditions.map((condition) => `--conditions=${condition}`),
        "--input-type=module",
        "--eval",
        `import { sign } from "@countersign/core";
         console.log(import.meta.resolve("#platform"));
         console.log(sign("{}", "secret"));`,
      ],
      { cwd: root, encoding: "utf8" },
    );
  const SIGNATURE = "5d61605c3feea9799210ddcb71307d4ba264225f";

  it("is node:crypto's on Node", () => {
    expect(resolved()).toMatch(new RegExp(`/dist/platform-node\\.js\\n${SIGNATURE}\\n$`));
  });

  it.each(["workerd", "edge-light", "browser"])("is the portable one on %s", (condition) => {
    expect(resolved(condition)).toMatch(new RegExp(`/dist/platform-portable\\.js\\n${SIGNATURE}\\n$`));
  });
});
