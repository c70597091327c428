import { createHmac } from "node:crypto";
import { sign, verifySignature, verifyWebhook } from "@countersign/core";
import { sampleMessages, signedRequest } from "@countersign/core/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

/**
 * The receiver that the service documents (spec 5.1): the body parsed by the framework, written again, its hex
 * HMAC-SHA1 compared with the header. Many apps do this.
 */
function documentedDigest(body: string, secret: string): string {
  const parsed: unknown = JSON.parse(body);
  return createHmac("sha1", secret).update(JSON.stringify(parsed)).digest("hex");
}

const aSecret = fc.string({ minLength: 1, unit: "grapheme" });
const aValue = fc.jsonValue({ stringUnit: "binary" });

describe("the documented receiver", () => {
  it.each(Object.values(sampleMessages))("accepts what signedRequest makes of a $type", (message) => {
    const { body, headers } = signedRequest(message, "secret");
    expect(headers["x-signature"]).toBe(documentedDigest(new TextDecoder().decode(body), "secret"));
  });

  it("accepts whatever sign signs, any JSON that JSON.stringify wrote", () => {
    fc.assert(
      fc.property(aValue, aSecret, (value, secret) => {
        const body = JSON.stringify(value);
        expect(sign(body, secret)).toBe(documentedDigest(body, secret));
      }),
    );
  });
});

describe("our receiver", () => {
  it("accepts whatever the documented algorithm signs, of the exact bytes even when strict", () => {
    fc.assert(
      fc.property(aValue, aSecret, (value, secret) => {
        const body = JSON.stringify(value);
        const result = verifySignature(body, documentedDigest(body, secret), secret, { strict: true });
        expect(result).toEqual({ ok: true, secretIndex: 0, verifiedOver: "bytes" });
      }),
    );
  });

  it("accepts it when the body was re-spaced on its way, and gives the same message", () => {
    const properties = fc.dictionary(fc.string({ unit: "binary" }), aValue);
    fc.assert(
      fc.property(properties, aSecret, fc.constantFrom(1, 2, "\t"), (properties, secret, space) => {
        const body = JSON.stringify({ ...sampleMessages.track, properties });
        const signature = documentedDigest(body, secret);
        const reSpaced = JSON.stringify(JSON.parse(body), null, space);
        const { message, verifiedOver } = verifyWebhook({ body: reSpaced, signature, secret });
        expect(verifiedOver).toBe("json");
        expect(JSON.stringify(message)).toBe(body);
      }),
    );
  });
});
