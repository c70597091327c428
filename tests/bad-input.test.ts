import { connect } from "node:net";
import { sign, type WebhookErrorCode } from "@countersign/core";
import { mutations, sampleMessages, signedRequest } from "@countersign/core/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { asWritten, exchange, wireBytes, type RawAnswer, type RawRequest } from "./support/raw-exchange.ts";
import { receivers, start, type RunningReceiver } from "./support/receivers.ts";

const SECRET = "a secret that no answer may show";
const MAX_BODY_BYTES = 4_096;

interface BadInput {
  readonly title: string;
  readonly request: RawRequest;
  /** Sent again and again behind the request, until there is an answer. */
  readonly endless?: Uint8Array;
}

/** The status of each code, and the requests that must be answered by it. */
const table: Partial<Record<WebhookErrorCode, { status: number; cases: readonly BadInput[] }>> = {
  ERR_METHOD_NOT_ALLOWED: {
    status: 405,
    cases: ["GET", "PUT", "DELETE", "PATCH"].map((method) => ({
      title: method,
      request: { ...track(), method },
    })),
  },
  ERR_MEDIA_TYPE: {
    status: 415,
    cases: [
      { title: "no Content-Type", request: track({ "content-type": undefined }) },
      ...["text/plain", "application/x-www-form-urlencoded", "application/jsonp", "json", "a/b/c"].map(
        (type) => ({ title: type, request: track({ "content-type": type }) }),
      ),
      { title: "Latin-1", request: track({ "content-type": "application/json; charset=iso-8859-1" }) },
      { title: "two headers, JSON second", request: withTwoTypes("text/plain", "application/json") },
    ],
  },
  ERR_CONTENT_ENCODING: {
    status: 415,
    cases: ["gzip", "br", "identity, gzip"].map((encoding) => ({
      title: encoding,
      request: track({ "content-encoding": encoding }),
    })),
  },
  ERR_BODY_TOO_LARGE: {
    status: 413,
    cases: [
      {
        title: "declared, and not yet sent",
        request: {
          // The rest of the body is still to come: only closing the connection stops it.
          keepAlive: true,
          headers: [
            ["content-type", "application/json"],
            ["content-length", String(MAX_BODY_BYTES + 1)],
            ["x-signature", "0".repeat(40)],
          ],
        },
      },
      {
        title: "undeclared and endless",
        request: {
          keepAlive: true,
          headers: [
            ["content-type", "application/json"],
            ["transfer-encoding", "chunked"],
            ["x-signature", "0".repeat(40)],
          ],
        },
        endless: Buffer.from(`400\r\n${"x".repeat(1_024)}\r\n`),
      },
    ],
  },
  ERR_SIGNATURE_MISSING: {
    status: 401,
    cases: [
      { title: "none", request: track({ "x-signature": undefined }) },
      { title: "an empty one", request: track({ "x-signature": "" }) },
    ],
  },
  ERR_SIGNATURE_MALFORMED: {
    status: 401,
    cases: [
      { title: "39 digits", request: track({ "x-signature": "0".repeat(39) }) },
      { title: "41 digits", request: track({ "x-signature": "0".repeat(41) }) },
      { title: "no hex", request: track({ "x-signature": "g".repeat(40) }) },
      { title: "SHA-256", request: track({ "x-signature": "0".repeat(64) }) },
      { title: "prefixed", request: track({ "x-signature": `sha1=${"0".repeat(40)}` }) },
      { title: "Latin-1", request: track({ "x-signature": "é".repeat(40) }) },
      { title: "10 KB", request: track({ "x-signature": "0".repeat(10_240) }) },
      {
        title: "the right one, twice",
        request: { ...track(), headers: track().headers.flatMap((entry) => repeatSignature(entry)) },
      },
    ],
  },
  ERR_SIGNATURE_MISMATCH: {
    status: 401,
    cases: [
      {
        title: "another secret",
        request: asWritten(mutations.forged(signedRequest(sampleMessages.track, SECRET))),
      },
      {
        title: "tampered",
        request: asWritten(mutations.tampered(signedRequest(sampleMessages.track, SECRET))),
      },
      { title: "a body cut short, but framed", request: cutShort() },
    ],
  },
  ERR_INVALID_UTF8: {
    status: 400,
    cases: [
      { title: "a lone continuation byte", request: signed(Buffer.from(`{"type":"track\x80"}`, "latin1")) },
      { title: "a lone surrogate", request: signed(Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])) },
    ],
  },
  ERR_INVALID_JSON: {
    status: 400,
    cases: [
      { title: "an empty body", request: signed("") },
      { title: "cut short", request: signed('{"type":"track"') },
      { title: "a byte order mark", request: signed('\u{feff}{"type":"track"}') },
      { title: "not JSON", request: signed("type=track") },
    ],
  },
  ERR_BATCH_UNSUPPORTED: {
    status: 422,
    cases: [{ title: "an array", request: signed(JSON.stringify([sampleMessages.track])) }],
  },
  ERR_UNKNOWN_TYPE: {
    status: 422,
    cases: [{ title: "a type of another product", request: signed('{"type":"charge.failed","userId":"u"}') }],
  },
  ERR_INVALID_MESSAGE: {
    status: 422,
    cases: [
      { title: "null", request: signed("null") },
      { title: "no type", request: signed("{}") },
      { title: "a track without event", request: signed('{"type":"track","userId":"u"}') },
      { title: "a number for userId", request: signed('{"type":"delete","userId":7}') },
    ],
  },
};

function signed(body: string | Uint8Array): RawRequest {
  return asWritten(signedRequest(body, SECRET));
}

/** A rightly signed track message, with headers replaced or, where undefined, left out. */
function track(changes: Readonly<Record<string, string | undefined>> = {}): RawRequest {
  const { headers, body } = signedRequest(sampleMessages.track, SECRET);
  const changed = Object.entries({ ...headers, ...changes }).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return asWritten({ headers: Object.fromEntries(changed), body });
}

function withTwoTypes(...types: readonly [string, string]): RawRequest {
  const { headers, body } = asWritten(signedRequest(sampleMessages.track, SECRET));
  const others = headers.filter(([name]) => name !== "content-type");
  return {
    headers: [...types.map((type) => ["content-type", type] as const), ...others],
    ...(body && { body }),
  };
}

function cutShort(): RawRequest {
  const { headers, body } = signedRequest(sampleMessages.track, SECRET);
  return asWritten({ headers, body: body.subarray(0, -1) });
}

function repeatSignature(entry: readonly [string, string]): (readonly [string, string])[] {
  return entry[0] === "x-signature" ? [entry, entry] : [entry];
}

function expectNothingLeaked(answer: RawAnswer, body: Uint8Array = new Uint8Array()): void {
  const text = JSON.stringify(answer);
  for (const telltale of [SECRET, sign(body, SECRET), "node_modules", "    at ", ".ts:", ".js:"]) {
    expect(text).not.toContain(telltale);
  }
}

describe.each(receivers)("$name", (receiver) => {
  let running: RunningReceiver;
  const handle = vi.fn<() => void>();
  const onRejected = vi.fn<(error: { code: WebhookErrorCode }) => void>();
  beforeAll(async () => {
    running = await start(receiver, { secret: SECRET, maxBodyBytes: MAX_BODY_BYTES, handle, onRejected });
  });
  beforeEach(() => {
    handle.mockClear();
    onRejected.mockClear();
  });
  afterAll(() => running.close());

  describe.each(Object.entries(table))("%s", (code, { status, cases }) => {
    it.each(cases)("$title", async ({ request, endless }) => {
      const answer = await exchange(running.url, wireBytes(running.url, request), endless);
      expect(answer.headers["content-type"]).toBe("application/problem+json; charset=utf-8");
      expect({ status: answer.status, ...(JSON.parse(answer.body) as object) }).toMatchObject({
        status,
        code,
      });
      expectNothingLeaked(answer, request.body);
      expect(onRejected).toHaveBeenCalledOnce();
      expect(handle).not.toHaveBeenCalled();
    });
  });

  it("ERR_BODY_ABORTED: the connection breaks in the middle of the body", async () => {
    const { port } = new URL(running.url);
    const whole = wireBytes(running.url, track());
    const socket = connect(Number(port), "127.0.0.1");
    socket.write(whole.subarray(0, -10), () => socket.destroy());
    await vi.waitFor(() => expect(onRejected).toHaveBeenCalledOnce());
    expect(onRejected.mock.calls[0]?.[0].code).toBe("ERR_BODY_ABORTED");
    expect(handle).not.toHaveBeenCalled();
  });

  it("takes a message with two Content-Type headers of which the first is JSON", async () => {
    const request = withTwoTypes("application/json", "text/plain");
    expect((await exchange(running.url, wireBytes(running.url, request))).status).toBe(204);
    expect(handle).toHaveBeenCalledOnce();
  });

  it("answers as before after all of this, and holds no connection", async () => {
    const answer = await exchange(running.url, wireBytes(running.url, track()));
    expect(answer.status).toBe(204);
    expect(handle).toHaveBeenCalledOnce();
    await vi.waitFor(async () => expect(await openConnections(running)).toBe(0));
  });
});

function openConnections({ server }: RunningReceiver): Promise<number> {
  return new Promise((resolve, reject) => {
    server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)));
  });
}
