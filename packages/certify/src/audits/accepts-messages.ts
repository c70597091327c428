import type { MessageType } from "@countersign/core";
import { MAX_NESTING } from "@countersign/protocol";
import { adviceFor, type Advice } from "./advice.ts";
import type { Audit, AuditLevel } from "./audit.ts";
import { accepted } from "./expectations.ts";
import { ACCEPTS_AUTHENTIC } from "./foundations.ts";
import { freshMessage, freshText, trackWithProperties } from "./messages.ts";

/** All but `track`, which is the foundation of all audits. */
const TYPES: readonly MessageType[] = ["page", "screen", "identify", "alias", "group", "delete"];

/** The largest call that the service takes (spec 8) has 32 KiB, and the context that its batch shares may have as much. In bytes. */
const LARGEST_MESSAGE = 64 * 1024;

/** What authentic messages may hold. A rejected one is lost: after a 4xx it is not sent again. */
export const acceptsMessages: readonly Audit[] = [
  ...TYPES.map((type) =>
    accepts("MUST", `accepts-${type}`, `Accepts ${article(type)} ${type} message`, {
      what: `${article(type)} ${type} message`,
      body: () => freshText(type),
      fix: {
        // Not the secret, nor the path: a track message was accepted.
        text: "Answer 2xx to each of the seven types, also to those that you do not need: a 4xx loses the message, and a 5xx or no answer has it sent again for four hours. If track messages are not accepted either, accepts-track says why.",
      },
    }),
  ),
  accepts("MUST", "accepts-anonymous-message", "Accepts a message of an anonymous user", {
    what: "a track message with an anonymousId, whose userId is null",
    body: () => freshText("track", { userId: null, anonymousId: "countersign-certify-visitor" }),
    fix: { text: "Do not require a userId: a visitor who has not signed in has only an anonymousId." },
  }),
  accepts("MUST", "accepts-unknown-fields", "Accepts fields it does not know, at every depth", {
    what: "a track message with fields that no documentation mentions",
    body: unknownFields,
    fix: {
      text: "Verify the body before any schema drops or rejects fields. Keep fields that you do not know: messages grow.",
    },
  }),
  accepts("MUST", "accepts-unicode", "Accepts text of every script, and emoji", {
    what: "a track message of emoji, CJK, Arabic and combining letters in raw UTF-8",
    body: () =>
      freshText("track", { event: "Größe 東京 مرحبا e\u0301 👩‍🚀🎉", properties: { 日本: "\u2028" } }),
    fix: {
      text: "Read the body as bytes and hash those. Decode it as UTF-8, whatever the platform's default, and never write it with \\u escapes.",
      hint: "digest",
    },
  }),
  accepts("MUST", "accepts-escapes", "Accepts the escapes that JSON needs", {
    what: "a track message with quotes, backslashes, control characters and HTML in it",
    body: () =>
      freshText("track", { event: '"\\\b\f\n\r\t\u0000\u001f', properties: { html: "</script>&amp;'+" } }),
    fix: {
      text: "Hash the exact bytes of the body: another JSON writer escapes other characters (<, >, & or /).",
      hint: "digest",
    },
  }),
  accepts("MUST", "accepts-numbers", "Accepts numbers as JSON.stringify writes them", {
    what: "a track message with numbers from 5e-324 to 1e+21",
    body: () =>
      freshText("track", { properties: { values: [0, -1.5, 0.1, 1e-7, 5e-324, 2 ** 53, 2 ** 60, 1e21] } }),
    fix: {
      text: "Hash the exact bytes of the body: another JSON writer writes 1e-7 or 1e+21 differently.",
      hint: "digest",
    },
  }),
  accepts("MUST", "accepts-prototype-keys", "Accepts properties with names such as constructor", {
    what: "a track message with properties called __proto__, constructor, prototype and toString",
    body: () =>
      trackWithProperties(
        '{"__proto__":{"a":1},"constructor":{"prototype":{"b":2}},"prototype":3,"toString":"4"}',
      ),
    fix: {
      text: "Let the JSON parser keep such keys as ordinary properties: they are the customer's data.",
      isOurs: true,
    },
  }),
  accepts("MUST", "accepts-nesting", "Accepts values nested fifty deep", {
    what: "a track message whose properties are nested 50 deep",
    body: () => trackWithProperties('{"a":'.repeat(50) + "1" + "}".repeat(50)),
    fix: {
      text: `Raise the depth limit of the JSON parser above ${MAX_NESTING}: a call may have as many levels.`,
    },
  }),
  accepts(
    "MUST",
    "accepts-largest-message",
    "Accepts a message of 64 KiB: a call of 32 KiB, and the context of its batch",
    {
      what: "a track message of 64 KiB",
      body: largest,
      fix: {
        text: "Raise the size limit, in the receiver and in any proxy in front of it, to at least 64 KiB.",
        hint: "limit",
      },
    },
  ),
  accepts("SHOULD", "accepts-lone-surrogates", "Accepts half of a surrogate pair, escaped", {
    what: 'a track message with a single "\\ud83d" in a string',
    body: () => freshText("track", { properties: { cut: "\ud83d" } }),
    fix: {
      text: "Parse with a JSON reader that keeps or replaces lone surrogates: text that was cut in the middle of an emoji has them.",
      hint: "surrogates",
    },
  }),
  accepts("SHOULD", "accepts-escapes-as-written", "Accepts escapes that JSON allows but does not need", {
    what: "a track message with \\/, \\u00e9 and \\u003c, signed as written",
    body: () =>
      trackWithProperties(String.raw`{"path":"\/pricing","name":"Andr\u00e9","html":"\u003cb\u003e"}`),
    fix: {
      text: "Hash the exact bytes received, not JSON that was parsed and serialised again.",
      hint: "digest",
      isOurs: true,
    },
  }),
  accepts(
    "SHOULD",
    "accepts-numbers-as-written",
    "Accepts numbers that JSON.stringify would write differently",
    {
      what: "a track message with 1e21, -0, 1.0 and 1152921504606846976, signed as written",
      body: () => trackWithProperties('{"values":[1e21,-0,1.0,1152921504606846976,1E5,0.10]}'),
      fix: {
        text: "Hash the exact bytes received, not JSON that was parsed and serialised again.",
        hint: "digest",
        isOurs: true,
      },
    },
  ),
];

/** The advice where other messages are recognised as authentic, and this one is answered 401: what is in it does not matter. */
const OTHER_BYTES: Advice = {
  text: "It takes this message for a forgery, though not others. Hash the exact bytes of the body, read to its end: not a part of them, nor JSON that was parsed and serialised again.",
  hint: "digest",
  isOurs: true,
};

interface Sample {
  readonly what: string;
  readonly body: () => string;
  readonly fix: Advice;
}

function accepts(level: AuditLevel, id: string, title: string, { what, body, fix }: Sample): Audit {
  return {
    id,
    level,
    title,
    needs: ACCEPTS_AUTHENTIC,
    run: async (probe) => {
      const exchange = await probe.send({ what, body: body() });
      const isTakenForForgery = exchange.answer?.status === 401 && fix.hint !== "digest";
      return accepted(exchange, adviceFor(isTakenForForgery ? OTHER_BYTES : fix, probe));
    },
  };
}

function article(type: MessageType): string {
  return /^[aei]/.test(type) ? "an" : "a";
}

function unknownFields(): string {
  const { context, ...message } = freshMessage("track", {
    properties: { nested: { list: [{ unheard: null }] } },
  });
  return JSON.stringify({
    ...message,
    channel: "server",
    "": "an empty name",
    _metadata: { bundled: ["Webhooks"] },
    context: { ...(context as object), unheardOf: { deep: [1, [2]] } },
  });
}

function largest(): string {
  const padding = LARGEST_MESSAGE - freshText("track", { properties: { padding: "" } }).length;
  return freshText("track", { properties: { padding: "x".repeat(padding) } });
}
