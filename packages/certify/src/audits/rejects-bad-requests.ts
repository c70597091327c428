import type { Advice } from "./advice.ts";
import type { Audit, AuditLevel } from "./audit.ts";
import { answeredWith, decided, rejected, sendEach, type Expectation } from "./expectations.ts";
import { ACCEPTS_AUTHENTIC, REJECTS_FORGED } from "./foundations.ts";
import { freshText } from "./messages.ts";
import { MADE_UP_SIGNATURE } from "./signatures.ts";
import type { Delivery, Probe } from "../probe/probe.ts";

/** Requests that are correctly signed and not messages, and the statuses that tell senders why. */
export const rejectsBadRequests: readonly Audit[] = [
  audit("MUST", "rejects-invalid-json", "Rejects a correctly signed body that is not JSON", {
    deliveries: invalidJson,
    expectation: rejected,
    fix: { text: "Catch the parser's error and answer 400.", hint: "json", isOurs: true },
    needs: ACCEPTS_AUTHENTIC,
  }),
  audit("SHOULD", "rejects-empty-body", "Rejects a correctly signed empty body", {
    deliveries: ({ sign }) => [
      { what: "no body", body: "" },
      { what: "no body and the signature of {}", body: "", signature: sign("{}") },
    ],
    expectation: rejected,
    fix: { text: "Answer 400 to a request without a body. Some parsers turn it into {} or undefined." },
    // The second one is a forgery.
    needs: [...ACCEPTS_AUTHENTIC, ...REJECTS_FORGED],
  }),
  audit("SHOULD", "rejects-invalid-utf8", "Rejects a correctly signed body that is not UTF-8", {
    deliveries: () => [{ what: "a track message with the bytes ff fe in a string", body: invalidUtf8() }],
    expectation: rejected,
    fix: {
      text: "Decode strictly and answer 400, so that no replacement characters are stored.",
      hint: "utf8",
    },
    needs: ACCEPTS_AUTHENTIC,
  }),
  audit("SHOULD", "rejects-get", "Rejects GET", {
    deliveries: () => [{ what: "no body", method: "GET", body: "", signature: null }],
    expectation: (exchange, fix) => (exchange.answer?.status === 501 ? undefined : rejected(exchange, fix)),
    fix: { text: "Answer 405 with Allow: POST (or 404) to methods other than POST." },
  }),
  audit("SHOULD", "survives-unexpected-shapes", "Handles signed JSON that is not a message", {
    deliveries: unexpectedShapes,
    expectation: decided,
    fix: { text: "Check the shape of a message before using it, and answer 422 or 400 to anything else." },
    needs: ACCEPTS_AUTHENTIC,
  }),
  audit("SHOULD", "answers-401-to-forgeries", "Answers 401 or 403 to a wrong or missing signature", {
    deliveries: () => [
      { what: "a track message", body: freshText("track"), signature: MADE_UP_SIGNATURE },
      { what: "a track message", body: freshText("track"), signature: null },
    ],
    expectation: answeredWith(401, 403),
    fix: {
      text: "Answer 401 when the signature is missing or wrong, to distinguish it from an invalid message.",
    },
    needs: [...REJECTS_FORGED, "rejects-missing-signature"],
  }),
  audit("SHOULD", "answers-400-to-invalid-json", "Answers 400 or 422 to a signed body that is not JSON", {
    deliveries: invalidJson,
    expectation: answeredWith(400, 422),
    fix: {
      text: "Verify the signature first, over the raw bytes. Then parse, and answer 400 when that fails.",
      hint: "json",
    },
    needs: [...ACCEPTS_AUTHENTIC, "rejects-invalid-json"],
  }),
  audit("SHOULD", "answers-415-to-other-media-types", "Answers 415 to a body that is not declared as JSON", {
    deliveries: () => [
      { what: "a track message", body: freshText("track"), headers: { "Content-Type": "text/plain" } },
    ],
    expectation: answeredWith(415),
    fix: { text: "Answer 415 when Content-Type is not application/json.", isOurs: true },
    needs: ACCEPTS_AUTHENTIC,
  }),
  audit("SHOULD", "answers-415-to-content-encodings", "Answers 415 to an unknown content encoding", {
    deliveries: () => [
      { what: "a track message", body: freshText("track"), headers: { "Content-Encoding": "x-unheard-of" } },
    ],
    expectation: answeredWith(415),
    fix: {
      text: "Answer 415 when Content-Encoding is anything you do not decode: the bytes are not the signed ones.",
      isOurs: true,
    },
    needs: ACCEPTS_AUTHENTIC,
  }),
];

interface Requests {
  readonly deliveries: (probe: Probe) => Delivery[];
  readonly expectation: Expectation;
  readonly fix: Advice;
  readonly needs?: readonly string[];
}

function audit(
  level: AuditLevel,
  id: string,
  title: string,
  { deliveries, expectation, fix, needs = [] }: Requests,
): Audit {
  return { id, level, title, needs, run: (probe) => sendEach(probe, deliveries(probe), expectation, fix) };
}

function invalidJson(): Delivery[] {
  const text = freshText("track");
  return [
    { what: "a truncated track message", body: text.slice(0, -1) },
    { what: "a track message followed by other text", body: `${text}]` },
    { what: "text that is not JSON", body: "type=track" },
  ];
}

function invalidUtf8(): Uint8Array {
  const body = Buffer.from(freshText("track", { event: "@@" }));
  body.set([0xff, 0xfe], body.indexOf("@@"));
  return body;
}

function unexpectedShapes(): Delivery[] {
  const shapes = [
    "null",
    "[]",
    "42",
    '"text"',
    "{}",
    '{"type":null}',
    '{"type":"unheard-of","userId":"countersign-certify"}',
    '{"type":"track","event":{"a":1},"properties":"none","userId":{},"context":[]}',
  ];
  return shapes.map((body) => ({ what: `the JSON ${body}`, body }));
}
