import { inspect } from "node:util";
import { WebhookError, type WebhookErrorCode } from "@countersign/core";
import { describe, expect, it } from "vitest";
import { ERROR_CODES } from "../src/errors.ts";

/** The promise to programs that compare codes: a change here is a breaking change. */
const STATUSES: Record<WebhookErrorCode, number> = {
  ERR_METHOD_NOT_ALLOWED: 405,
  ERR_MEDIA_TYPE: 415,
  ERR_CONTENT_ENCODING: 415,
  ERR_BODY_TOO_LARGE: 413,
  ERR_BODY_FRAGMENTED: 400,
  ERR_BODY_ABORTED: 400,
  ERR_BODY_ALREADY_READ: 500,
  ERR_SIGNATURE_MISSING: 401,
  ERR_SIGNATURE_MALFORMED: 401,
  ERR_SIGNATURE_MISMATCH: 401,
  ERR_INVALID_UTF8: 400,
  ERR_INVALID_JSON: 400,
  ERR_BATCH_UNSUPPORTED: 422,
  ERR_UNKNOWN_TYPE: 422,
  ERR_INVALID_MESSAGE: 422,
  ERR_DUPLICATE_IN_FLIGHT: 503,
};

describe("WebhookError", () => {
  it("has these codes, in the order of the checks", () => {
    expect(ERROR_CODES).toEqual(Object.keys(STATUSES));
  });

  it.each(ERROR_CODES)("%s says what was wrong and what to do", (code) => {
    const error = new WebhookError(code);
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ name: "WebhookError", code, status: STATUSES[code], expose: true });
    expect(error.statusCode).toBe(error.status);
    for (const text of [error.message, error.hint]) expect(text).toMatch(/^[A-Z].{15,}\.$/);
    expect(error.hint).not.toBe(error.message);
    // An operator does not have the document whose sections comments cite.
    expect(error.hint).not.toContain("(spec");
  });

  it("has its own message and hint for each code", () => {
    const errors = ERROR_CODES.map((code) => new WebhookError(code));
    expect(new Set(errors.map(({ message }) => message)).size).toBe(errors.length);
    expect(new Set(errors.map(({ hint }) => hint)).size).toBe(errors.length);
  });

  it("takes a message, a hint and a cause", () => {
    const cause = new Error("why");
    const error = new WebhookError("ERR_INVALID_JSON", { message: "what", hint: "do this", cause });
    expect(error).toMatchObject({ message: "what", hint: "do this", cause });
  });

  it("has no cause property without a cause", () => {
    expect("cause" in new WebhookError("ERR_INVALID_JSON")).toBe(false);
    expect(inspect(new WebhookError("ERR_INVALID_JSON"))).not.toContain("cause");
  });

  it.each([
    ["ERR_METHOD_NOT_ALLOWED", { allow: "POST" }],
    ["ERR_BODY_TOO_LARGE", { connection: "close" }],
    ["ERR_DUPLICATE_IN_FLIGHT", { "retry-after": "5" }],
    ["ERR_SIGNATURE_MISMATCH", {}],
  ] as const)("%s carries the headers its answer needs", (code, headers) => {
    expect(new WebhookError(code).headers).toEqual(headers);
  });
});
