import assert from "node:assert/strict";
import { isUtf8 } from "node:buffer";
import {
  sign,
  verifySignature,
  createReceiver,
  type SignatureHeader,
  type WebhookBody,
} from "@countersign/core";
import fc from "fast-check";
import * as onNode from "../../packages/core/src/platform-node.ts";
import * as portable from "../../packages/core/src/platform-portable.ts";
import { fuzzTarget, type FuzzTarget } from "./harness.ts";
import { hexHmac, independentVerify, type IndependentResult } from "./independent-verifier.ts";
import { jsonText } from "./json-values.ts";
import { applyChanges, signedCase, type SignedCase } from "./signed-requests.ts";

const SECRET = "secret";
const BODY = "{}";
const DIGEST = hexHmac(Buffer.from(BODY), SECRET);

const headerText = fc.oneof(
  fc.constantFrom(DIGEST, DIGEST.toUpperCase(), `${DIGEST} `, ` ${DIGEST}`, `${DIGEST}\n`, `sha1=${DIGEST}`),
  fc.string({
    unit: fc.constantFrom(...Array.from("0123456789abcdefABCDEFgG０٠ \n\0")),
    minLength: 38,
    maxLength: 42,
  }),
  fc
    .tuple(fc.nat(39), fc.string({ unit: "binary", maxLength: 2 }))
    .map(([at, text]) => DIGEST.slice(0, at) + text + DIGEST.slice(at + 1)),
  jsonText,
);
const headerValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 5, arbitrary: headerText },
  {
    weight: 2,
    arbitrary: fc.array(fc.oneof(headerText, fc.constantFrom(null, undefined, 0)), { maxLength: 3 }),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<unknown>(
      undefined,
      null,
      0,
      1n,
      true,
      {},
      [[DIGEST]],
      new Date(0),
      Buffer.from(DIGEST),
    ),
  },
);

/** Any value of the header is answered with a code, and accepted only where it is the digest. */
const signatureHeader = fuzzTarget({
  name: "signature header",
  share: 110,
  input: headerValue,
  check(header) {
    const expected = independentVerify(Buffer.from(BODY), header, [SECRET], true);
    const result = verifySignature(BODY, header as SignatureHeader, SECRET, { strict: true });
    assert.deepEqual(outcomeOf(result), outcomeOf(expected));
  },
});

/** Any secret and body are signed as node:crypto signs them, by both implementations, in 40 lower-case hex digits. */
const codec = fuzzTarget({
  name: "signature codec",
  share: 80,
  input: fc.record({
    secret: jsonText.filter((text) => text !== ""),
    body: fc.oneof(jsonText, fc.uint8Array({ maxLength: 300 })),
  }),
  check({ secret, body }) {
    const bytes = Buffer.from(body as Uint8Array);
    const digest = hexHmac(bytes, secret);
    assert.equal(sign(body, secret), digest);
    const text = isUtf8(bytes) ? bytes.toString() : undefined;
    for (const { hmac, equalDigests, fromHex, toHex, toUtf8, fromUtf8 } of [onNode, portable]) {
      for (const key of [secret, Buffer.from(secret)]) assert.equal(toHex(hmac("sha1", key, bytes)), digest);
      assert.equal(equalDigests(hmac("sha1", secret, bytes), fromHex(digest)), true);
      assert.equal(fromUtf8(bytes), text);
      if (typeof body === "string") assert.equal(Buffer.compare(toUtf8(body), bytes), 0);
    }
    assert.equal(verifySignature(body, digest.toUpperCase(), secret).ok, true);
  },
});

/** Any mutation of a signed request is accepted exactly when the documented algorithm accepts it. */
const verification = fuzzTarget({
  name: "verification",
  share: 200,
  input: signedCase,
  async check(input) {
    const request = applyChanges(input);
    const { body, header, secrets, strict } = request;
    const expected = independentVerify(body, header, secrets, strict);
    const result = verifySignature(body, header as SignatureHeader, secrets, { strict });
    assert.deepEqual(outcomeOf(result), outcomeOf(expected));
    if (!Array.isArray(header) && (typeof header === "string" || header === undefined)) {
      await checkReceiver(request, header, expected);
    }
  },
});

/** The receiver agrees, wherever the body comes from; and hands on the text that the signature covers, nothing else. */
async function checkReceiver(
  { body, secrets, strict }: SignedCase,
  header: string | undefined,
  expected: IndependentResult,
): Promise<void> {
  const receiver = createReceiver({ secret: () => secrets, strict });
  const headers = {
    "content-type": "application/json",
    ...(header !== undefined && { "x-signature": header }),
  };
  const bodies: readonly WebhookBody[] = [
    { from: "raw", value: body },
    { from: "stream", read: () => Promise.resolve(body) },
  ];
  for (const from of bodies) {
    const received = await receiver.receive({ method: "POST", headers, body: from, request: undefined });
    if (received.verdict === "rejected") {
      const isRefusedSignature = received.error.code.startsWith("ERR_SIGNATURE_");
      assert.equal(isRefusedSignature, !expected.ok, received.error.code);
      if (!expected.ok) assert.equal(received.error.code, expected.code);
      continue;
    }
    assert.ok(expected.ok, "accepted, though the documented algorithm refuses it");
    const { webhook } = received;
    assert.equal(webhook.verifiedOver, expected.over);
    assert.deepEqual(webhook.message, JSON.parse(expected.text));
    assert.equal(Buffer.from(webhook.rawBody).toString("utf8"), expected.text);
    assert.equal(Buffer.compare(webhook.receivedBody ?? Buffer.alloc(0), body), 0);
  }
}

function outcomeOf(result: IndependentResult | ReturnType<typeof verifySignature>): unknown {
  if (!result.ok) return result.code;
  const over = "over" in result ? result.over : result.verifiedOver;
  return `${over} by secret ${result.secretIndex}`;
}

export const verificationTargets: readonly FuzzTarget[] = [signatureHeader, codec, verification];
