import { createHmac } from "node:crypto";
import { sign } from "@countersign/core";
import { explainSignature } from "countersign";
import { describe, expect, it } from "vitest";

const secret = "dev";
const body = '{"type":"track","event":"Ordered"}';
const spaced = '{ "type": "track", "event": "Ordered" }';

describe("explainSignature", () => {
  it.each([
    ["the exact bytes", body, sign(body, secret), "The signature matches the exact bytes of the body."],
    [
      "upper case",
      body,
      sign(body, secret).toUpperCase(),
      "The signature matches the exact bytes of the body.",
    ],
    [
      "a body that was re-spaced",
      spaced,
      sign(body, secret),
      "once its JSON is written again without extra spaces",
    ],
  ])("says that %s match", (_title, text, signature, sentence) => {
    const explained = explainSignature({ body: Buffer.from(text), signature, secret });
    expect(explained).toMatchObject({ matches: true, diagnoses: [] });
    expect(explained.sentence).toContain(sentence);
  });

  it.each([
    ["white space around the secret", sign(body, "dev\n"), "white space around it"],
    ["a prefix", `sha1=${sign(body, secret)}`, "an algorithm before it"],
    ["SHA-256", createHmac("sha256", secret).update(body).digest("hex"), "HMAC-SHA256"],
    ["base64", Buffer.from(sign(body, secret), "hex").toString("base64"), "base64"],
    ["another secret", sign(body, "other"), "compare the secret with the sender's"],
    ["no digest", "hello", "not 40 hex digits"],
    ["nothing", "", "empty"],
  ])("names %s", (_title, signature, sentence) => {
    const explained = explainSignature({ body: Buffer.from(body), signature, secret });
    expect(explained.matches).toBe(false);
    expect(explained.sentence).toContain(sentence);
  });

  it("never shows the secret or the right signature", () => {
    const { sentence } = explainSignature({
      body: Buffer.from(body),
      signature: "0".repeat(40),
      secret: "s3cret",
    });
    expect(sentence).not.toContain("s3cret");
    expect(sentence).not.toContain(sign(body, "s3cret"));
  });
});
