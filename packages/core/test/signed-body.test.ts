import { Buffer } from "node:buffer";
import { createReceiver, sign, verifySignature, type VerifiedWebhook } from "@countersign/core";
import { sampleMessages } from "@countersign/core/testing";
import { afterEach, describe, expect, it, vi } from "vitest";
import { SECRET, webhookRequest } from "./support/requests.ts";

afterEach(() => vi.restoreAllMocks());

const KIB = 1_024;
const text = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString();

/** The webhook of a body whose signature covers another text. */
async function verified(received: string, signed: string): Promise<VerifiedWebhook> {
  const headers = { "x-signature": sign(signed, SECRET) };
  const request = webhookRequest({ headers, body: { from: "raw", value: received } });
  const result = await createReceiver({ secret: SECRET }).receive(request);
  if (result.verdict !== "verified") throw new Error(result.verdict);
  return result.webhook;
}

describe("what is passed on is what was signed", () => {
  const message = (properties: string): string =>
    `{"type":"track","event":"e","userId":"u","properties":${properties}}`;

  it.each([
    ["a key twice, of which JSON keeps one", '{"role":"admin","role":"user"}', '{"role":"user"}'],
    ["a number that JSON cannot hold", '{"limit":1e400}', '{"limit":null}'],
    ["a zero with a sign", '{"total":-0}', '{"total":0}'],
    ["other white space", '{ "a" : 1 }', '{"a":1}'],
  ])("%s: rawBody is the covered text, receivedBody what came", async (_case, sent, covered) => {
    const webhook = await verified(message(sent), message(covered));
    expect(webhook.verifiedOver).toBe("json");
    expect(text(webhook.rawBody)).toBe(message(covered));
    expect(text(webhook.receivedBody)).toBe(message(sent));
    expect(webhook.message).toStrictEqual(JSON.parse(message(covered)));
  });

  it("is the bytes received where they match", async () => {
    const body = message('{ "total" : -0 }');
    const webhook = await verified(body, body);
    expect(text(webhook.rawBody)).toBe(body);
    expect(webhook.receivedBody).toBe(webhook.rawBody);
    expect(webhook.message).toStrictEqual(JSON.parse(body));
  });
});

describe("work for a request of anyone", () => {
  const forged = "0".repeat(40);
  const indented = (size: number): string => {
    const properties = { text: "x".repeat(size - 400) };
    const body = JSON.stringify({ ...sampleMessages.track, properties }, null, 2);
    expect(Math.abs(body.length - size)).toBeLessThan(400);
    return body;
  };

  it("does not parse a body over 128 KiB before it is verified", async () => {
    const parse = vi.spyOn(JSON, "parse");
    const brackets = "[".repeat(64 * KIB + 1) + "]".repeat(64 * KIB + 1);
    expect(verifySignature(brackets, forged, SECRET).ok).toBe(false);
    const request = webhookRequest({
      headers: { "x-signature": forged },
      body: { from: "raw", value: brackets },
    });
    expect(await createReceiver({ secret: SECRET }).receive(request)).toMatchObject({
      error: { code: "ERR_SIGNATURE_MISMATCH", hint: expect.stringContaining("131072 bytes") as string },
    });
    expect(parse).not.toHaveBeenCalled();
    expect(verifySignature(` [${"0".repeat(128 * KIB - 2)}`, forged, SECRET).ok).toBe(false);
    expect(parse).toHaveBeenCalledOnce();
  });

  it("names the limit to onRejected, too, where the bytes of a large body do not match", async () => {
    const hints: string[] = [];
    const receiver = createReceiver({ secret: SECRET, onRejected: ({ hint }) => void hints.push(hint) });
    const body = indented(200 * KIB);
    const headers = { "x-signature": sign(JSON.stringify(JSON.parse(body)), SECRET) };
    expect(
      await receiver.receive(webhookRequest({ headers, body: { from: "raw", value: body } })),
    ).toMatchObject({ verdict: "rejected" });
    expect(hints).toEqual([expect.stringContaining("131072 bytes")]);
    // When strict, the second form is not tried at all.
    const strict = createReceiver({ secret: SECRET, strict: true });
    expect(
      await strict.receive(webhookRequest({ headers, body: { from: "raw", value: body } })),
    ).toMatchObject({ error: { hint: expect.not.stringContaining("131072") as string } });
  });

  it("accepts an indented body up to the limit, and the exact bytes of a larger one", async () => {
    const small = indented(127 * KIB);
    expect((await verified(small, JSON.stringify(JSON.parse(small)))).verifiedOver).toBe("json");
    const large = indented(200 * KIB);
    expect((await verified(large, large)).verifiedOver).toBe("bytes");
  });

  it("does not parse forged compact JSON, once a first forgery has loaded what recognises it", async () => {
    const receiver = createReceiver({ secret: SECRET });
    const parse = vi.spyOn(JSON, "parse");
    const parsed = async (): Promise<number> => {
      parse.mockClear();
      const received = await receiver.receive(webhookRequest({ headers: { "x-signature": forged } }));
      expect(received).toMatchObject({ error: { code: "ERR_SIGNATURE_MISMATCH" } });
      return parse.mock.calls.length;
    };
    await expect.poll(parsed).toBe(0);
  });

  it("does not parse a forged body again that arrived parsed", async () => {
    const value = sampleMessages.track;
    const request = webhookRequest({
      headers: { "x-signature": forged },
      body: { from: "parsed", value },
    });
    const parse = vi.spyOn(JSON, "parse");
    expect(await createReceiver({ secret: SECRET }).receive(request)).toMatchObject({ verdict: "rejected" });
    expect(parse).not.toHaveBeenCalled();
  });

  it("accepts a body that arrived parsed up to maxBodyBytes: it was parsed already", async () => {
    const value: unknown = JSON.parse(indented(500 * KIB));
    const headers = { "x-signature": sign(JSON.stringify(value), SECRET) };
    const request = webhookRequest({ headers, body: { from: "parsed", value } });
    expect(await createReceiver({ secret: SECRET }).receive(request)).toMatchObject({
      verdict: "verified",
      webhook: { verifiedOver: "json" },
    });
    expect(await createReceiver({ secret: SECRET, maxBodyBytes: 400 * KIB }).receive(request)).toMatchObject({
      error: { code: "ERR_BODY_TOO_LARGE" },
    });
  });
});
