// What verifying costs over the least that any verifier must do: hash the body, compare, parse. In turns, in one run of
// some 10 seconds; the median of the rounds.
//   node packages/core/bench/verify.mjs
import { createHmac, timingSafeEqual } from "node:crypto";
import { createReceiver, verifyWebhook } from "@countersign/core";
import { sampleMessages, signedRequest } from "@countersign/core/testing";
import * as portable from "../dist/hmac-portable.js";

const secret = "a shared secret of usual length";
const rounds = 15;
const roundMs = 40;

/** A message of about this many bytes. */
function messageOf(bytes) {
  const items = Array.from({ length: Math.max(1, Math.round((bytes - 400) / 62)) }, (_, index) => ({
    sku: `sku-${index}`,
    price: 9.5 + index,
    name: "Something that was bought",
  }));
  return signedRequest({ ...sampleMessages.track, properties: { items } }, secret);
}

/** Hash, compare, parse: nothing is checked of the header, the secret or the message. */
function bare({ body, headers }) {
  const digest = createHmac("sha1", secret).update(body).digest();
  if (!timingSafeEqual(digest, Buffer.from(headers["x-signature"], "hex"))) throw new Error("mismatch");
  return JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.length).toString());
}

const receiver = createReceiver({ secret });
const contenders = {
  "hash, compare and parse alone": bare,
  verifyWebhook: ({ body, headers }) => verifyWebhook({ body, signature: headers["x-signature"], secret }),
  "receiver.receive": ({ method, headers, body }) =>
    receiver.receive({ method, headers, body: { from: "raw", value: body }, request: undefined }),
  "HMAC of hmac-portable alone": ({ body }) => portable.hmac("sha1", new TextEncoder().encode(secret), body),
};

async function microseconds(run, request) {
  const end = performance.now() + roundMs;
  const start = performance.now();
  let count = 0;
  for (; performance.now() < end; count += 20) for (let n = 0; n < 20; n += 1) await run(request);
  return ((performance.now() - start) * 1000) / count;
}

const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];

for (const size of [600, 2_048, 32_768]) {
  const request = messageOf(size);
  const times = Object.fromEntries(Object.keys(contenders).map((name) => [name, []]));
  for (let round = -2; round < rounds; round += 1) {
    for (const [name, run] of Object.entries(contenders)) {
      const time = await microseconds(run, request);
      if (round >= 0) times[name].push(time);
    }
  }
  const least = median(times["hash, compare and parse alone"]);
  console.log(`${request.body.length} bytes`);
  for (const [name, all] of Object.entries(times)) {
    const time = median(all);
    console.log(`  ${time.toFixed(1).padStart(8)} µs  ${(time / least).toFixed(2).padStart(6)} x  ${name}`);
  }
}
