import { isUtf8 } from "node:buffer";
import { sign, verifyWebhook, WebhookError } from "@countersign/core";
import { createServer } from "@countersign/server";
import { afterAll, describe, expect, it } from "vitest";
import { JSON_CASES } from "./json-cases.ts";
import { send } from "./support/http.ts";

const SECRET = "secret";
const NOT_JSON: ReadonlySet<string> = new Set(["ERR_INVALID_JSON", "ERR_INVALID_UTF8"]);

/** A server that takes the calls of any client may ignore a mark at the beginning (RFC 8259, 8.1). Nothing is signed there. */
const IGNORED_BY_THE_SERVER = "a byte order mark before";

const server = await createServer({ to: "http://127.0.0.1:9/", port: 0 });
afterAll(() => server.close());

function parses(body: Uint8Array): boolean {
  // The mark at the beginning counts: it is a byte that was signed.
  if (!isUtf8(body)) return false;
  try {
    JSON.parse(Buffer.from(body).toString("utf8"));
    return true;
  } catch {
    return false;
  }
}

/** The code that a receiver refuses a correctly signed body with. None of these bodies is a message. */
function codeOf(body: Uint8Array): string {
  try {
    verifyWebhook({ body, signature: sign(body, SECRET), secret: SECRET });
  } catch (error) {
    if (error instanceof WebhookError) return error.code;
    throw error;
  }
  return "accepted";
}

describe.each(JSON_CASES)("%s", (name, text, isJson) => {
  const body = Buffer.from(text as Uint8Array);

  it(`is ${isJson ? "" : "not "}JSON to JSON.parse and to a receiver`, () => {
    expect(parses(body)).toBe(isJson);
    expect(NOT_JSON.has(codeOf(body))).toBe(!isJson);
  });

  const isTaken = isJson || name === IGNORED_BY_THE_SERVER;
  it(`is ${isTaken ? "" : "not "}JSON to the server`, async () => {
    const headers = { authorization: `Basic ${Buffer.from("any:").toString("base64")}` };
    const { status, text } = await send(`${server.url}/v1/batch`, { method: "POST", headers, body });
    const { code } = JSON.parse(text) as { code?: string };
    expect([status, code]).toEqual(isTaken ? [200, undefined] : [400, "invalid_json"]);
  });
});
