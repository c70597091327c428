import { Buffer } from "node:buffer";
import { createReceiver, isMessage, type MessageType } from "@countersign/core";
import { mutations, sampleMessages, signedRequest, type SignedRequest } from "@countersign/core/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

const SECRET = "secret";
const TYPES: readonly MessageType[] = ["page", "screen", "identify", "track", "alias", "group", "delete"];

async function verdictOn({ method, headers, body }: SignedRequest): Promise<string> {
  const request = { method, headers, body: { from: "raw", value: body }, request: undefined } as const;
  const received = await createReceiver({ secret: SECRET }).receive(request);
  return received.verdict === "rejected" ? received.error.code : received.webhook.verifiedOver;
}

describe("sampleMessages", () => {
  it("has one well-formed message of each type", () => {
    expect(Object.keys(sampleMessages)).toEqual(TYPES);
    for (const type of TYPES) {
      expect(sampleMessages[type].type).toBe(type);
      expect(isMessage(sampleMessages[type])).toBe(true);
    }
  });

  it("has the documented fields of each type (spec 2.2)", () => {
    expect(Object.keys(sampleMessages.page.properties ?? {})).toEqual(["path", "referrer", "title", "url"]);
    expect(sampleMessages.screen.context).toMatchObject({
      device: { model: expect.any(String) as string, type: expect.any(String) as string },
      os: { name: expect.any(String) as string, version: expect.any(String) as string },
      app: {
        build: expect.any(String) as string,
        name: expect.any(String) as string,
        version: expect.any(String) as string,
      },
    });
    expect(sampleMessages.alias).toMatchObject({
      "Previous ID": expect.any(String) as string,
      "User ID": "u-1842",
    });
    expect(Object.keys(sampleMessages.delete)).toEqual(["type", "userId", "timestamp"]);
    for (const { timestamp } of Object.values(sampleMessages)) {
      expect(new Date(timestamp ?? "").toISOString()).toBe(timestamp);
    }
  });
});

describe("signedRequest", () => {
  it("is the documented request: the body once, its signature, the headers (spec 4.1)", () => {
    expect(signedRequest({}, SECRET)).toEqual({
      method: "POST",
      headers: {
        "content-type": "application/json",
        "user-agent": "Countersign/1.0",
        "x-signature": "5d61605c3feea9799210ddcb71307d4ba264225f",
      },
      body: Uint8Array.from(Buffer.from("{}")),
      text: "{}",
    });
  });

  it("accepts strings and bytes unchanged", async () => {
    const spaced = '{ "type": "delete", "userId": "u-1" }';
    for (const body of [spaced, Buffer.from(spaced)]) {
      const request = signedRequest(body, SECRET);
      expect(Buffer.from(request.body).toString()).toBe(spaced);
      expect(request.text).toBe(spaced);
      expect(await verdictOn(request)).toBe("bytes");
    }
  });

  it("gives a text that is always the body's, also after a mutation", () => {
    const request = signedRequest(sampleMessages.track, SECRET);
    for (const mutate of Object.values(mutations)) {
      const { body, text } = mutate(request);
      expect(text).toBe(Buffer.from(body).toString());
    }
  });
});

describe("mutations", () => {
  const verdicts: [name: keyof typeof mutations, verdict: string][] = [
    ["tampered", "ERR_SIGNATURE_MISMATCH"],
    ["unsigned", "ERR_SIGNATURE_MISSING"],
    ["forged", "ERR_SIGNATURE_MISMATCH"],
    ["malformed", "ERR_SIGNATURE_MALFORMED"],
    ["upperCase", "bytes"],
    ["reSpaced", "json"],
  ];

  it.each(verdicts)("%s comes to %s, for every message type", async (name, verdict) => {
    expect(verdicts.map(([name]) => name)).toEqual(Object.keys(mutations));
    for (const message of Object.values(sampleMessages)) {
      const request = signedRequest(message, SECRET);
      const copy = structuredClone(request);
      expect(await verdictOn(mutations[name](request))).toBe(verdict);
      expect(request).toEqual(copy);
    }
  });

  it("tampered changes one byte of any body, and keeps JSON JSON where it can", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1 }), (bytes) => {
        const { body } = mutations.tampered(signedRequest(bytes, SECRET));
        expect(body.filter((byte, index) => byte !== bytes[index])).toHaveLength(1);
      }),
    );
    const { body } = mutations.tampered(signedRequest(sampleMessages.track, SECRET));
    expect(isMessage(JSON.parse(Buffer.from(body).toString()))).toBe(true);
  });
});
