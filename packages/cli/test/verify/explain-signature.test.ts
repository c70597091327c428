import { createHmac } from "node:crypto";
import { sign } from "@countersign/core";
import { explainSignature } from "countersign";
import { describe, expect, it } from "vitest";

const SECRET = "dev";
const BODY = '{"type":"track","event":"Ordered"}';
const SPACED = '{ "type": "track", "event": "Ordered" }';

describe("explainSignature", () => {
  it.each([
    ["the exact bytes", BODY, sign(BODY, SECRET), "The signature matches the exact bytes of the body."],
    [
      "upper case",
      BODY,
      sign(BODY, SECRET).toUpperCase(),
      "The signature matches the exact bytes of the body.",
    ],
    [
      "a body that was re-spaced",
      SPACED,
      sign(BODY, SECRET),
      "These are not the exact bytes that were signed",
    ],
    [
      "a body with escapes, as PHP logs it",
      String.raw`{"url":"https:\/\/example.com"}`,
      sign('{"url":"https://example.com"}', SECRET),
      "a check of the exact bytes does not",
    ],
  ])("says that %s match", (_title, text, signature, sentence) => {
    const explained = explainSignature({ body: Buffer.from(text), signature, secret: SECRET });
    expect(explained).toMatchObject({ matches: true, diagnoses: [] });
    expect(explained.sentence).toContain(sentence);
  });

  it.each([
    ["white space around the secret", sign(BODY, "dev\n"), "white space around it"],
    ["a prefix", `sha1=${sign(BODY, SECRET)}`, "an algorithm before it"],
    ["SHA-256", createHmac("sha256", SECRET).update(BODY).digest("hex"), "HMAC-SHA256"],
    ["base64", Buffer.from(sign(BODY, SECRET), "hex").toString("base64"), "base64"],
    ["another secret", sign(BODY, "other"), "Compare the secret with the sender's"],
    ["no digest", "hello", "neither 40 hex digits"],
    ["nothing", "", "empty"],
  ])("names %s", (_title, signature, sentence) => {
    const explained = explainSignature({ body: Buffer.from(BODY), signature, secret: SECRET });
    expect(explained.matches).toBe(false);
    expect(explained.sentence).toContain(sentence);
  });

  it("says what to compare in words for a file, a request and the API", () => {
    const { sentence } = explainSignature({
      body: Buffer.from(BODY),
      signature: sign(BODY, "other"),
      secret: SECRET,
    });
    expect(sentence).toMatch(/something has changed its bytes\.$/);
    expect(sentence).not.toContain("FILE");
  });

  it.each([sign(BODY, SECRET), sign(BODY, "other")])(
    "says of an empty body, whatever the secret, that something has read it: no message is empty",
    (signature) => {
      const { sentence } = explainSignature({ body: Buffer.of(), signature, secret: SECRET });
      expect(sentence).toMatch(/^The body is empty, and no message is\. .* before anything parses it\.$/);
    },
  );

  it("never shows the secret or the right signature", () => {
    const { sentence } = explainSignature({
      body: Buffer.from(BODY),
      signature: "0".repeat(40),
      secret: "s3cret",
    });
    expect(sentence).not.toContain("s3cret");
    expect(sentence).not.toContain(sign(BODY, "s3cret"));
  });
});
