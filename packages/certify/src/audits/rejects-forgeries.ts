import { createHmac } from "node:crypto";
import type { Advice } from "./advice.ts";
import type { Audit } from "./audit.ts";
import { rejected, sendEach } from "./expectations.ts";
import { REJECTS_FORGED } from "./foundations.ts";
import { freshMessage, freshText } from "./messages.ts";
import { MADE_UP_SIGNATURE } from "./signatures.ts";
import type { Delivery, Probe } from "../probe/probe.ts";

/** Requests that do not prove, in the one documented way, that the secret is known. */
export const rejectsForgeries: readonly Audit[] = [
  rejects("rejects-tampered-body", "Rejects a body that was changed after it was signed", {
    deliveries: tampered,
    fix: {
      text: "Compute the digest over the body that arrived, and reject the request when it differs from X-Signature.",
      hint: "digest",
    },
  }),
  rejects("rejects-wrong-secret", "Rejects a message that was signed with another secret", {
    // A receiver whose own secret ends with a space takes one of these for the right form.
    besidesTheRightForm: true,
    deliveries: ({ secret }) => [
      signedWith(`${secret} `, "another secret"),
      signedWith("secret-of-someone-else", "another secret"),
    ],
    fix: {
      text: "Compute the digest with your own secret, whole and untrimmed, and reject the request when it differs.",
      hint: "secret",
    },
  }),
  rejects("rejects-well-known-secrets", "Rejects a message signed with an empty or unset secret", {
    besidesTheRightForm: true,
    deliveries: ({ secret }) =>
      ["", "undefined", "null", "None", "secret"]
        .filter((known) => known !== secret)
        .map((known) => signedWith(known, `the secret ${JSON.stringify(known)}`)),
    fix: {
      text: "Do not start when the secret is not configured. Never compute digests with an empty or default one.",
      hint: "secret",
    },
  }),
  rejects("rejects-missing-signature", "Rejects a message without a signature", {
    deliveries: () => [
      { what: "a track message", body: freshText("track"), signature: null },
      { what: "a track message", body: freshText("track"), signature: "" },
      { what: "no body at all", body: "", signature: null },
    ],
    fix: { text: "Reject a request without X-Signature before any other code reads it." },
  }),
  rejects("rejects-malformed-signature", "Rejects a signature that is not forty hex digits", {
    deliveries: malformed,
    fix: {
      text: "Check that X-Signature is exactly 40 hex digits before it is decoded or compared.",
      hint: "compare",
    },
  }),
  rejects("rejects-non-ascii-signature", "Rejects a signature of Latin-1 letters", {
    deliveries: () => [
      { what: "a track message", body: freshText("track"), signature: "é".repeat(40) },
      { what: "a track message", body: freshText("track"), signature: `${MADE_UP_SIGNATURE.slice(1)}ÿ` },
    ],
    fix: {
      text: "Check first that X-Signature is exactly 40 hex digits: forty characters are not forty bytes, and a comparison may throw.",
      hint: "compare",
    },
  }),
  rejects("rejects-repeated-signature", "Rejects two signatures, both wrong", {
    deliveries: () => [
      {
        what: "a track message",
        body: freshText("track"),
        signature: [MADE_UP_SIGNATURE, MADE_UP_SIGNATURE],
      },
      { what: "a track message", body: freshText("track"), signature: ["", MADE_UP_SIGNATURE.slice(1)] },
    ],
    fix: { text: "A header that is sent twice arrives as a list, or as a string with a comma. Reject both." },
  }),
  rejects("rejects-partial-signature", "Rejects a signature of which only a part is right", {
    deliveries: (probe) => [
      ...[1, 8, 20, 39].map((digits) => partial(probe, digits)),
      wrongAt(probe, 39),
      wrongAt(probe, 0),
    ],
    fix: {
      text: "Compare all 20 bytes, which are 40 hex digits, in constant time, never a part of them.",
      hint: "compare",
    },
  }),
  rejects("rejects-sha256-signature", "Rejects HMAC-SHA256 in place of HMAC-SHA1", {
    besidesTheRightForm: true,
    deliveries: (probe) => [
      otherForm(probe, "HMAC-SHA256", (body, secret) =>
        createHmac("sha256", secret).update(body).digest("hex"),
      ),
      otherForm(
        probe,
        "HMAC-SHA256 with a prefix",
        (body, secret) => `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`,
      ),
    ],
    fix: {
      text: "Accept only HMAC-SHA1, the documented algorithm. A request must not choose how it is verified.",
    },
  }),
  rejects("rejects-base64-signature", "Rejects the right digest in base64", {
    besidesTheRightForm: true,
    deliveries: (probe) => [
      otherForm(probe, "base64", (body, secret) => createHmac("sha1", secret).update(body).digest("base64")),
      otherForm(probe, "base64url", (body, secret) =>
        createHmac("sha1", secret).update(body).digest("base64url"),
      ),
    ],
    fix: {
      text: "Accept only forty hex digits, the documented form. A lenient decoder may accept forgeries.",
      hint: "compare",
    },
  }),
  rejects("rejects-prefixed-signature", "Rejects the right digest behind sha1=", {
    besidesTheRightForm: true,
    deliveries: (probe) => [
      otherForm(probe, "a prefix", (body) => `sha1=${probe.sign(body)}`),
      otherForm(probe, "a list", (body) => `${MADE_UP_SIGNATURE}, ${probe.sign(body)}`),
    ],
    fix: { text: "Accept only forty hex digits, the documented form.", hint: "compare" },
  }),
  rejects("rejects-batches", "Rejects a list of messages of which only the first is signed", {
    deliveries: ({ sign }) => {
      const messages = [freshMessage("track"), freshMessage("delete")];
      const first = JSON.stringify(messages[0]);
      return [
        {
          what: "a list of two messages, of which only the first is signed",
          body: JSON.stringify(messages),
          signature: sign(first),
        },
      ];
    },
    fix: { text: "Reject a body that is a JSON list: anyone can add messages after the one that is signed." },
  }),
];

interface Forgeries {
  readonly deliveries: (probe: Probe) => Delivery[];
  readonly fix: Advice;
  /** Whether it is the fault of a receiver that accepts the right form, too. One that accepts only this form was told so. */
  readonly besidesTheRightForm?: boolean;
}

function rejects(id: string, title: string, forgeries: Forgeries): Audit {
  const { deliveries, fix, besidesTheRightForm = false } = forgeries;
  const needs = besidesTheRightForm ? [...REJECTS_FORGED, "accepts-track"] : REJECTS_FORGED;
  return {
    id,
    level: "MUST",
    title,
    needs,
    run: (probe) => sendEach(probe, deliveries(probe), rejected, fix),
  };
}

function tampered({ sign }: Probe): Delivery[] {
  const message = freshMessage("track", { properties: { total: 1 } });
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
    MADE_UP_SIGNATURE.slice(1),
    `${MADE_UP_SIGNATURE}0`,
    "z".repeat(40),
    `0x${MADE_UP_SIGNATURE.slice(2)}`,
    "a".repeat(4_000),
    "%00%ff",
    '{"$ne":null}',
    `sha1=${MADE_UP_SIGNATURE}`,
    MADE_UP_SIGNATURE.repeat(2).slice(0, 64),
    "AAAAAAAAAAAAAAAAAAAAAAAAAAA=",
  ];
  return values.map((signature) => ({ what: "a track message", body: freshText("track"), signature }));
}

function partial({ sign }: Probe, digits: number): Delivery {
  const body = freshText("track");
  const what = `a track message and the first ${digits} digits of its signature`;
  return { what, body, signature: sign(body).slice(0, digits) };
}

/** Forty digits of which one is wrong: a receiver that compares 20 digits, or a number made of all of them, takes it for right. */
function wrongAt({ sign }: Probe, position: number): Delivery {
  const body = freshText("track");
  const digits = sign(body).split("");
  digits[position] = digits[position] === "0" ? "1" : "0";
  const what = `a track message and its signature with digit ${position + 1} changed`;
  return { what, body, signature: digits.join("") };
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
