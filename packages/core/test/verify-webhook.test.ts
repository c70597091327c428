import { Buffer } from "node:buffer";
import { sign, verifyWebhook, WebhookError, type VerifyWebhookInput } from "@countersign/core";
import { mutations, sampleMessages, signedRequest } from "@countersign/core/testing";
import { describe, expect, it } from "vitest";
import { caught } from "./support/caught.ts";

const SECRET = "secret";

function signed(body: string | Uint8Array): Parameters<typeof verifyWebhook>[0] {
  return { body, signature: sign(body, SECRET), secret: SECRET };
}

describe("verifyWebhook", () => {
  it.each(Object.values(sampleMessages))("verifies and types a $type", (message) => {
    const { body, headers } = signedRequest(message, SECRET);
    const signature = headers["x-signature"];
    expect(verifyWebhook({ body, signature, secret: SECRET })).toEqual({
      message,
      rawBody: body,
      receivedBody: body,
      signature,
      secretIndex: 0,
      verifiedOver: "bytes",
    });
  });

  it("encodes a string as UTF-8 and returns its bytes", () => {
    const body = '{"type":"track","userId":"u-1","event":"🎉"}';
    expect(Buffer.from(verifyWebhook(signed(body)).rawBody).toString()).toBe(body);
  });

  it("gives the signature in lower case, whatever came", () => {
    const { body, headers } = mutations.upperCase(signedRequest(sampleMessages.track, SECRET));
    const { signature } = verifyWebhook({ body, signature: headers["x-signature"], secret: SECRET });
    expect(signature).toBe(headers["x-signature"]?.toLowerCase());
  });

  it("accepts an unknown type only with allowUnknownTypes", () => {
    const input = signed('{"type":"purchase"}');
    expect(caught(() => verifyWebhook(input))).toMatchObject({ code: "ERR_UNKNOWN_TYPE" });
    expect(verifyWebhook({ ...input, allowUnknownTypes: true }).message).toEqual({ type: "purchase" });
  });

  it.each([
    ["no signature", { ...signed("{}"), signature: undefined }, "ERR_SIGNATURE_MISSING"],
    ["a malformed signature", { ...signed("{}"), signature: "x" }, "ERR_SIGNATURE_MALFORMED"],
    ["another secret", { ...signed("{}"), secret: "other" }, "ERR_SIGNATURE_MISMATCH"],
    ["re-spaced JSON when strict", { ...signed("{}"), body: "{ }", strict: true }, "ERR_SIGNATURE_MISMATCH"],
    ["bytes that are not UTF-8", signed(Uint8Array.of(0x22, 0xff, 0x22)), "ERR_INVALID_UTF8"],
    ["text that is not JSON", signed("hello"), "ERR_INVALID_JSON"],
    ["an empty body", signed(""), "ERR_INVALID_JSON"],
    ["a byte order mark", signed("\ufeff{}"), "ERR_INVALID_JSON"],
    ["an array", signed(JSON.stringify([sampleMessages.track])), "ERR_BATCH_UNSUPPORTED"],
    ["a wrong field", signed('{"type":"track","event":1}'), "ERR_INVALID_MESSAGE"],
    ["500,000 brackets", signed("[".repeat(500_000) + "]".repeat(500_000)), "ERR_BATCH_UNSUPPORTED"],
  ])("refuses %s", (_case, input, code) => {
    const error = caught(() => verifyWebhook(input));
    expect(error).toBeInstanceOf(WebhookError);
    expect(error).toMatchObject({ code });
  });

  it.each([
    ["a parsed body", { ...signed("{}"), body: {} as string }],
    ["an empty secret", { ...signed("{}"), secret: "" }],
    ["an empty list of secrets", { ...signed("{}"), secret: [] }],
  ])("throws a TypeError for %s", (_case, input) => {
    expect(() => verifyWebhook(input)).toThrow(TypeError);
  });

  it("says where the middleware is if it is called like one", () => {
    const options = { secret: "secret" } as VerifyWebhookInput;
    expect(() => verifyWebhook(options)).toThrow(/The middleware of this name is in @countersign\/express/);
  });

  it("reads a re-serialised body as it was signed: 1e400 does not pass for the null that is written of it", () => {
    const sent = '{"type":"track","userId":"u-1","event":"Refund","properties":{"limit":null}}';
    const forged = sent.replace("null", "1e400");
    const { message, verifiedOver } = verifyWebhook({
      body: forged,
      signature: sign(sent, SECRET),
      secret: SECRET,
    });
    expect(verifiedOver).toBe("json");
    expect(message).toEqual(JSON.parse(sent));
  });

  it("shows no digest and no secret in an error", () => {
    const error = caught(() => verifyWebhook({ ...signed("{}"), body: '{"a":1}', secret: "hush-hush" }));
    const shown = `${String(error)} ${JSON.stringify(error)}`;
    expect(shown).not.toContain("hush-hush");
    expect(shown).not.toMatch(/[0-9a-f]{40}/i);
  });
});
