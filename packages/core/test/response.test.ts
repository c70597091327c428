import { toProblem, WebhookError } from "@countersign/core";
import { describe, expect, it } from "vitest";
import { ERROR_CODES } from "../src/errors.ts";

describe("toProblem", () => {
  it.each(ERROR_CODES)("answers %s by RFC 9457", (code) => {
    const error = new WebhookError(code);
    const { status, headers, body } = toProblem(error);
    expect(status).toBe(error.status);
    expect(headers).toMatchObject({
      "content-type": "application/problem+json; charset=utf-8",
      "cache-control": "no-store",
      ...error.headers,
    });
    expect(JSON.parse(body)).toEqual({
      type: "about:blank",
      title: expect.stringMatching(/^[A-Z][A-Za-z ]+$/) as string,
      status,
      detail: error.message,
      code,
    });
    expect(body).not.toContain('"Error"');
  });

  it("shows neither hint nor cause nor stack", () => {
    const error = new WebhookError("ERR_SIGNATURE_MISMATCH", {
      hint: "for the operator",
      cause: new Error("for the log"),
    });
    const { body } = toProblem(error);
    expect(body).not.toMatch(/operator|log|stack|hint|cause/);
  });

  it("keeps a message that quotes the caller inside of its JSON", () => {
    const message = '"}, {"injected": "\r\n\u2028"';
    const { body } = toProblem(new WebhookError("ERR_INVALID_MESSAGE", { message }));
    expect(JSON.parse(body)).toMatchObject({ detail: message });
  });
});
