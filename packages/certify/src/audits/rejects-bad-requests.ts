import type { Audit, AuditLevel } from "./audit.ts";
import { answeredWith, decided, refused, sendEach, type Expectation } from "./expectations.ts";
import { freshText } from "./messages.ts";
import type { Delivery, Probe } from "../probe/probe.ts";

const WRONG_SIGNATURE = "f".repeat(40);

/** Requests that are no messages although their signature is right, and the statuses that tell senders why. */
export const rejectsBadRequests: readonly Audit[] = [
  audit("MUST", "rejects-invalid-json", "Refuses what is not JSON, rightly signed", {
    deliveries: invalidJson,
    expectation: refused,
    fix: "Catch the parser's error and answer 400.",
  }),
  audit("SHOULD", "rejects-empty-body", "Refuses an empty body, rightly signed", {
    deliveries: ({ sign }) => [
      { what: "no body", body: "" },
      { what: "no body and the signature of {}", body: "", signature: sign("{}") },
    ],
    expectation: refused,
    fix: "Answer 400 to a request without a body; some parsers make {} or nothing of it.",
  }),
  audit("SHOULD", "rejects-invalid-utf8", "Refuses bytes that are not UTF-8, rightly signed", {
    deliveries: () => [{ what: "a track message with the bytes ff fe in a string", body: invalidUtf8() }],
    expectation: refused,
    fix: "Decode strictly (TextDecoder with fatal: true) and answer 400, rather than storing replacement characters.",
  }),
  audit("SHOULD", "rejects-get", "Refuses GET", {
    deliveries: () => [{ what: "no body", method: "GET", body: "", signature: null }],
    expectation: (exchange, fix) => (exchange.answer?.status === 501 ? undefined : refused(exchange, fix)),
    fix: "Answer 405 with Allow: POST (or 404) to methods other than POST.",
  }),
  audit("SHOULD", "survives-unexpected-shapes", "Decides about signed JSON that is no message", {
    deliveries: unexpectedShapes,
    expectation: decided,
    fix: "Check the shape of a message before using it, and answer 422 or 400 to what is none.",
  }),
  audit("SHOULD", "answers-401-to-forgeries", "Answers 401 or 403 to a wrong or missing signature", {
    deliveries: () => [
      { what: "a track message", body: freshText("track"), signature: WRONG_SIGNATURE },
      { what: "a track message", body: freshText("track"), signature: null },
    ],
    expectation: answeredWith(401, 403),
    fix: "Answer 401 when the signature is missing or wrong, so that it is told from a message that is wrong itself.",
  }),
  audit("SHOULD", "answers-400-to-invalid-json", "Answers 400 or 422 to what is not JSON, rightly signed", {
    deliveries: invalidJson,
    expectation: answeredWith(400, 422),
    fix: "Verify the signature first, over the raw bytes; then parse, and answer 400 when that fails.",
  }),
  audit("SHOULD", "answers-415-to-other-media-types", "Answers 415 to a body that is not declared as JSON", {
    deliveries: () => [
      { what: "a track message", body: freshText("track"), headers: { "Content-Type": "text/plain" } },
    ],
    expectation: answeredWith(415),
    fix: "Answer 415 when Content-Type is not application/json.",
  }),
  audit("SHOULD", "answers-415-to-content-encodings", "Answers 415 to a content encoding nobody knows", {
    deliveries: () => [
      { what: "a track message", body: freshText("track"), headers: { "Content-Encoding": "x-unheard-of" } },
    ],
    expectation: answeredWith(415),
    fix: "Answer 415 when Content-Encoding is anything you do not decode: the bytes are not what was signed.",
  }),
];

interface Requests {
  readonly deliveries: (probe: Probe) => Delivery[];
  readonly expectation: Expectation;
  readonly fix: string;
}

function audit(
  level: AuditLevel,
  id: string,
  title: string,
  { deliveries, expectation, fix }: Requests,
): Audit {
  return { id, level, title, run: (probe) => sendEach(probe, deliveries(probe), expectation, fix) };
}

function invalidJson(): Delivery[] {
  const text = freshText("track");
  return [
    { what: "a track message that breaks off", body: text.slice(0, -1) },
    { what: "a track message with text behind it", body: `${text}]` },
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
