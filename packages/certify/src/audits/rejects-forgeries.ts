import { createHmac } from "node:crypto";
import type { Audit } from "./audit.ts";
import { refused, sendEach } from "./expectations.ts";
import { freshMessage, freshText } from "./messages.ts";
import type { Delivery, Probe } from "../probe/probe.ts";

/** Well-formed digits that are the digest of nothing anyone sends. */
const SOME_DIGEST = "0123456789abcdef0123456789abcdef01234567";

/** Requests that do not prove knowledge of the secret in the one documented way. */
export const rejectsForgeries: readonly Audit[] = [
  rejects("rejects-tampered-body", "Refuses a body that was changed after it was signed", {
    deliveries: tampered,
    fix: "Compute the digest over the body that arrived, and refuse the request when it differs from X-Signature.",
  }),
  rejects("rejects-wrong-secret", "Refuses a message that was signed with another secret", {
    deliveries: ({ secret }) => [
      signedWith(`${secret} `, "another secret"),
      signedWith("secret-of-someone-else", "another secret"),
    ],
    fix: "Compute the digest with your own secret, whole and untrimmed, and refuse the request when it differs.",
  }),
  rejects("rejects-well-known-secrets", "Refuses what an empty or unset secret would have signed", {
    deliveries: ({ secret }) =>
      ["", "undefined", "null", "None", "secret"]
        .filter((known) => known !== secret)
        .map((known) => signedWith(known, `the secret ${JSON.stringify(known)}`)),
    fix: "Stop at the start when the secret is not configured, rather than computing digests with an empty or default one.",
  }),
  rejects("rejects-missing-signature", "Refuses a message without a signature", {
    deliveries: () => [
      { what: "a track message", body: freshText("track"), signature: null },
      { what: "a track message", body: freshText("track"), signature: "" },
      { what: "no body at all", body: "", signature: null },
    ],
    fix: "Refuse a request without X-Signature before anything else looks at it.",
  }),
  rejects("rejects-malformed-signature", "Refuses a signature that is not forty hex digits", {
    deliveries: malformed,
    fix: "Check X-Signature against /^[0-9a-f]{40}$/i before it is decoded or compared.",
  }),
  rejects("rejects-non-ascii-signature", "Refuses a signature of Latin-1 letters", {
    deliveries: () => [
      { what: "a track message", body: freshText("track"), signature: "é".repeat(40) },
      { what: "a track message", body: freshText("track"), signature: `${SOME_DIGEST.slice(1)}ÿ` },
    ],
    fix: "Check X-Signature against /^[0-9a-f]{40}$/i first: forty characters are not forty bytes, and a comparison may throw.",
  }),
  rejects("rejects-repeated-signature", "Refuses two signatures, both wrong", {
    deliveries: () => [
      { what: "a track message", body: freshText("track"), signature: [SOME_DIGEST, SOME_DIGEST] },
      { what: "a track message", body: freshText("track"), signature: ["", SOME_DIGEST.slice(1)] },
    ],
    fix: "Expect a list, or a text with a comma in it, where a header comes twice, and refuse it.",
  }),
  rejects("rejects-partial-signature", "Refuses the first digits of the right signature", {
    deliveries: (probe) => [1, 8, 20, 39].map((digits) => partial(probe, digits)),
    fix: "Compare all 20 bytes in constant time (timingSafeEqual, hmac.compare_digest, hash_equals), never a prefix.",
  }),
  rejects("rejects-sha256-signature", "Refuses HMAC-SHA256 in place of HMAC-SHA1", {
    deliveries: (probe) => [
      otherForm(probe, "HMAC-SHA256", (body, secret) =>
        createHmac("sha256", secret).update(body).digest("hex"),
      ),
      otherForm(
        probe,
        "SHA-256 under a name",
        (body, secret) => `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`,
      ),
    ],
    fix: "Accept the one documented algorithm. A request must not choose how it is verified.",
  }),
  rejects("rejects-base64-signature", "Refuses the right digest in base64", {
    deliveries: (probe) => [
      otherForm(probe, "base64", (body, secret) => createHmac("sha1", secret).update(body).digest("base64")),
      otherForm(probe, "base64url", (body, secret) =>
        createHmac("sha1", secret).update(body).digest("base64url"),
      ),
    ],
    fix: "Accept the one documented form, forty hex digits. Lenient decoders are how forgeries get in.",
  }),
  rejects("rejects-prefixed-signature", "Refuses the right digest behind sha1=", {
    deliveries: (probe) => [
      otherForm(probe, "a prefix", (body) => `sha1=${probe.sign(body)}`),
      otherForm(probe, "a list", (body) => `${SOME_DIGEST}, ${probe.sign(body)}`),
    ],
    fix: "Accept the one documented form, forty hex digits and nothing else.",
  }),
  rejects("rejects-batches", "Refuses a list of messages of which only the first is signed", {
    deliveries: ({ sign }) => {
      const messages = [freshMessage("track"), freshMessage("delete")];
      const first = JSON.stringify(messages[0]);
      return [
        {
          what: "a list of two messages, signed for the first alone",
          body: JSON.stringify(messages),
          signature: sign(first),
        },
      ];
    },
    fix: "Refuse a body that is a JSON list: anyone can add messages to it behind the one that is signed.",
  }),
];

interface Forgeries {
  readonly deliveries: (probe: Probe) => Delivery[];
  readonly fix: string;
}

function rejects(id: string, title: string, { deliveries, fix }: Forgeries): Audit {
  return { id, level: "MUST", title, run: (probe) => sendEach(probe, deliveries(probe), refused, fix) };
}

function tampered({ sign }: Probe): Delivery[] {
  const message = freshMessage("track", { event: "Order Completed", properties: { total: 1 } });
  const signature = sign(JSON.stringify(message));
  const delivery = (what: string, body: string): Delivery => ({ what, body, signature });
  return [
    delivery(
      "a track message with one digit changed",
      JSON.stringify({ ...message, properties: { total: 9 } }),
    ),
    delivery("a track message with one field added", JSON.stringify({ ...message, admin: true })),
    delivery("another message under the signature of a track message", freshText("delete")),
  ];
}

function signedWith(secret: string, what: string): Delivery {
  const body = freshText("track");
  const signature = createHmac("sha1", secret).update(body).digest("hex");
  return { what: `a track message signed with ${what}`, body, signature };
}

function malformed(): Delivery[] {
  const values = [
    "null",
    SOME_DIGEST.slice(1),
    `${SOME_DIGEST}0`,
    "z".repeat(40),
    `0x${SOME_DIGEST.slice(2)}`,
    "a".repeat(4_000),
    "%00%ff",
    '{"$ne":null}',
    `sha1=${SOME_DIGEST}`,
    SOME_DIGEST.repeat(2).slice(0, 64),
    "AAAAAAAAAAAAAAAAAAAAAAAAAAA=",
  ];
  return values.map((signature) => ({ what: "a track message", body: freshText("track"), signature }));
}

function partial({ sign }: Probe, digits: number): Delivery {
  const body = freshText("track");
  const what = `a track message and the first ${digits} digits of its signature`;
  return { what, body, signature: sign(body).slice(0, digits) };
}

function otherForm(
  { secret }: Probe,
  form: string,
  signature: (body: string, secret: string) => string,
): Delivery {
  const body = freshText("track");
  return {
    what: `a track message signed with the right secret, as ${form}`,
    body,
    signature: signature(body, secret),
  };
}
