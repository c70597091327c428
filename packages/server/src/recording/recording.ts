import { isObject, parseJson } from "@countersign/protocol";
import { bodyText } from "../shapes/body-text.ts";

/** A recorded request: one line of a recording, as JSON. */
export interface RecordedRequest {
  /** When it was sent, ISO 8601. */
  readonly at: string;
  /** Where it was sent. */
  readonly url: string;
  /** Every header except the framing ones. */
  readonly headers: Readonly<Record<string, string>>;
  /** The exact bytes. */
  readonly body: Uint8Array;
}

/** A line is not a line of a recording. */
export class RecordingError extends Error {
  override readonly name = "RecordingError";
}

/** One line, with its newline. The body is stored as a string, or in base64 if a string would not preserve its bytes. */
export function formatRecordedRequest({ at, url, headers, body }: RecordedRequest): string {
  const { body: text, bodyBase64 } = bodyText(body);
  const content = bodyBase64 === undefined ? { body: text } : { bodyBase64 };
  return `${JSON.stringify({ at, url, headers, ...content })}\n`;
}

/**
 * Reads one line.
 *
 * @param line The text, with or without its newline.
 * @param number Its number, from 1, for the error.
 * @throws RecordingError saying what is wrong with it.
 */
export function parseRecordedRequest(line: string, number: number): RecordedRequest {
  const fail = (problem: string): never => {
    throw new RecordingError(
      `Line ${number} ${problem}. A recording has one JSON object per line, as \`countersign serve --record FILE\` writes it.`,
    );
  };
  let value: unknown;
  try {
    value = parseJson(line);
  } catch {
    return fail("is not JSON");
  }
  if (!isObject(value)) return fail("is not an object");
  const { at = "", url = "", headers = {}, body, bodyBase64 } = value;
  if (typeof at !== "string" || typeof url !== "string")
    return fail("has an `at` or `url` that is not a string");
  if (!isHeaders(headers)) return fail("has `headers` that are not names and strings");
  if (typeof body === "string") return { at, url, headers, body: Buffer.from(body, "utf8") };
  if (typeof bodyBase64 === "string") return { at, url, headers, body: Buffer.from(bodyBase64, "base64") };
  return fail("has neither `body` nor `bodyBase64`");
}

function isHeaders(value: unknown): value is Record<string, string> {
  return isObject(value) && Object.values(value).every((item) => typeof item === "string");
}
