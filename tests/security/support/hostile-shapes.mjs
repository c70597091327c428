// Requests that are sent to do harm, as bytes. Each costs its sender little. `to` says at whom it is aimed; `ending` what the
// client does when it has written all of it: wait for an answer, hang for a while, or reset the connection.
import { Buffer } from "node:buffer";
import { gzipSync } from "node:zlib";

const KEY = Buffer.from("wrong:").toString("base64");
const DIGEST = "0123456789abcdef0123456789abcdef01234567";
const MEBIBYTE = 1_048_576;

function post(path, body, headers = {}) {
  const lines = Object.entries({ Host: "127.0.0.1", "Content-Length": body.length, ...headers }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  return [
    Buffer.concat([
      Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`, "latin1"),
      Buffer.from(body),
    ]),
  ];
}

const batch = (body, headers) => post("/v1/batch", body, { Authorization: `Basic ${KEY}`, ...headers });
/** With the right key: what is judged message by message. */
const keyed = (body, headers) =>
  batch(body, { Authorization: `Basic ${Buffer.from("honest:").toString("base64")}`, ...headers });
const zipped = (text) => gzipSync(text);
const GZIP = { "Content-Encoding": "gzip" };
const hook = (body, headers) =>
  post("/webhooks", body, { "Content-Type": "application/json", "X-Signature": DIGEST, ...headers });
const raw = (text) => [Buffer.from(text, "latin1")];
const head = (path, headers) => raw(`POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${headers}\r\n`);
const messages = (count, message) => JSON.stringify({ batch: Array.from({ length: count }, () => message) });
const many = (count, piece) => Array.from({ length: count }, () => Buffer.from(piece));
const keys = (count, name) =>
  `{${Array.from({ length: count }, (_, index) => `"${name(index)}":0`).join(",")}}`;
const TRACK = { type: "track", userId: "u", event: "e" };

const shape = (name, to, pieces, ending = "wait") => ({ name, to, pieces, ending });
const server = (name, pieces, ending) => shape(name, "server", pieces, ending);
const receiver = (name, pieces, ending) => shape(name, "receiver", pieces, ending);

const ofServer = [
  server("a gzip bomb", batch(Buffer.concat(many(4, zipped(Buffer.alloc(100 * MEBIBYTE, "[")))), GZIP)),
  server(
    "a batch whose long messageId counts for 2,500 messages",
    keyed(zipped(`{"messageId":"${"i".repeat(490_000)}","batch":[${"{},".repeat(2_499)}{}]}`), GZIP),
  ),
  server(
    "a batch whose shared context is copied into 2,500 messages",
    keyed(
      zipped(
        `{"context":{"a":"${"c".repeat(32_000)}"},"batch":[${`${JSON.stringify(TRACK)},`.repeat(2_499)}${JSON.stringify(TRACK)}]}`,
      ),
      GZIP,
    ),
  ),
  server(
    "2,500 messages without a user",
    keyed(zipped(messages(2_500, { type: "track", event: "e" })), GZIP),
  ),
  server("2,500 nulls", keyed(messages(2_500, null))),
  server("2,501 messages", keyed(messages(2_501, {}))),
  server("one messageId 2,500 times", keyed(zipped(messages(2_500, { ...TRACK, messageId: "same" })), GZIP)),
  server("2,500 messages of an unknown key", batch(messages(2_500, TRACK))),
  server("500 KB of open brackets", batch("[".repeat(500_000))),
  server("500 KB of nested objects", batch('{"a":'.repeat(100_000))),
  server("closed brackets, 250,000 deep", batch("[".repeat(250_000) + "]".repeat(250_000))),
  server("30,000 keys", keyed(`{"batch":[${keys(30_000, (index) => `k${index}`)}]}`)),
  server(
    "30,000 keys that look like numbers",
    keyed(`{"batch":[${keys(30_000, (index) => index * 4_294_967)}]}`),
  ),
  server("30,000 times __proto__", keyed(`{"batch":[${keys(30_000, () => "__proto__")}]}`)),
  server("a text of 500 KB", keyed(JSON.stringify({ batch: ["a".repeat(500_000)] }))),
  server("escapes only", keyed(`{"batch":["${String.raw`\u0000`.repeat(80_000)}"]}`)),
  server("a number of 500,000 digits", keyed(`{"batch":[${"9".repeat(500_000)}]}`)),
  server("bytes that are not UTF-8", batch(Buffer.alloc(500_000, 0xff))),
  server("gzip cut short", batch(zipped(messages(2_500, TRACK)).subarray(0, 200), GZIP)),
  server("gzip that is none", batch("not gzip", GZIP)),
  server("1,000 gzip members", batch(Buffer.concat(many(1_000, zipped("[]"))), GZIP)),
  server("an unknown encoding", batch("{}", { "Content-Encoding": "br" })),
  server("a body of ten times the limit", batch("a".repeat(5_000_000))),
  server("a body without an end", [
    ...head("/v1/batch", "Transfer-Encoding: chunked\r\n"),
    ...many(200, `10000\r\n${"a".repeat(65_536)}\r\n`),
  ]),
  server("4,000 chunks of one byte", [
    ...head("/v1/batch", "Transfer-Encoding: chunked\r\n"),
    Buffer.from("1\r\na\r\n".repeat(4_000)),
    Buffer.from("0\r\n\r\n"),
  ]),
  server("a chunk size beyond all", [
    ...head("/v1/batch", "Transfer-Encoding: chunked\r\n"),
    Buffer.from("ffffffffffffffff\r\na"),
  ]),
  server(
    "a length of 9 EB",
    [...head("/v1/batch", "Content-Length: 9000000000000000000\r\n"), Buffer.from("{}")],
    "hang",
  ),
  server("a body that never comes", head("/v1/batch", "Content-Length: 400000\r\n"), "hang"),
  server(
    "half a body",
    [...head("/v1/batch", "Content-Length: 400000\r\n"), Buffer.alloc(200_000, "a")],
    "hang",
  ),
  server(
    "a body given up",
    [...head("/v1/batch", "Content-Length: 400000\r\n"), Buffer.alloc(200_000, "a")],
    "reset",
  ),
  server("headers that never end", raw("POST /v1/batch HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: "), "hang"),
  server("64 KB of headers", head("/v1/batch", `X-A: ${"a".repeat(65_536)}\r\n`)),
  server("1,500 headers", head("/v1/batch", "X-A: a\r\n".repeat(1_500))),
  server("a length and chunks at once", [
    ...head("/v1/batch", "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n"),
    Buffer.from("0\r\n\r\n"),
  ]),
  server("a header with a NUL", head("/v1/batch", "X-A: \0\r\nContent-Length: 0\r\n")),
  server(
    "an Expect that nobody fulfils",
    head("/v1/batch", "Expect: 100-continue\r\nContent-Length: 100\r\n"),
    "hang",
  ),
  server(
    "an upgrade",
    raw("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"),
  ),
  server("the preface of HTTP/2", raw("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")),
  server("TLS", [Buffer.from("16030100c8010000c40303", "hex")]),
  server("no HTTP at all", [Buffer.alloc(2_000, 0x80)]),
  server("40 requests at once on one connection", many(40, batch("{}")[0])),
  server("a URL of 12,000 characters", raw(`GET /${"a".repeat(12_000)} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`)),
  server("a URL that cannot be decoded", raw("GET /%E0%A4%A HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")),
  server("a write key of 8 KB", batch("{}", { Authorization: `Basic ${"QUFB".repeat(2_000)}` })),
  server(
    "the API without a token, with 1 MiB",
    post("/api/faults", "a".repeat(MEBIBYTE), { "Content-Type": "application/json" }),
  ),
  server(
    "the API from a foreign page",
    raw("DELETE /api/sources/default HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: https://evil.example\r\n\r\n"),
  ),
  server("the event stream without a token", raw("GET /api/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")),
  server("a connection and nothing else", [], "hang"),
];

const ofReceiver = [
  receiver(
    "1 MiB of brackets with a made-up signature",
    hook("[".repeat(MEBIBYTE / 2) + "]".repeat(MEBIBYTE / 2)),
  ),
  receiver("128 KiB of brackets with a made-up signature", hook("[".repeat(65_536) + "]".repeat(65_536))),
  receiver("128 KiB of keys with a made-up signature", hook(keys(11_000, (index) => `k${index}`))),
  receiver("128 KiB of numbers with a made-up signature", hook(`[${"1e1,".repeat(32_000)}0]`)),
  receiver("128 KiB of escapes with a made-up signature", hook(`["${String.raw`\u00e9`.repeat(21_000)}"]`)),
  receiver("a body beyond the limit", hook("a".repeat(MEBIBYTE + 1))),
  receiver("a body without an end", [
    ...head(
      "/webhooks",
      `Content-Type: application/json\r\nX-Signature: ${DIGEST}\r\nTransfer-Encoding: chunked\r\n`,
    ),
    ...many(100, `10000\r\n${"a".repeat(65_536)}\r\n`),
  ]),
  receiver("4,000 chunks of one byte", [
    ...head(
      "/webhooks",
      `Content-Type: application/json\r\nX-Signature: ${DIGEST}\r\nTransfer-Encoding: chunked\r\n`,
    ),
    Buffer.from("1\r\na\r\n".repeat(4_000)),
    Buffer.from("0\r\n\r\n"),
  ]),
  receiver(
    "a body that never comes",
    head("/webhooks", `Content-Type: application/json\r\nX-Signature: ${DIGEST}\r\nContent-Length: 1000\r\n`),
    "hang",
  ),
  receiver(
    "a body given up",
    [
      ...head(
        "/webhooks",
        `Content-Type: application/json\r\nX-Signature: ${DIGEST}\r\nContent-Length: 900000\r\n`,
      ),
      Buffer.alloc(400_000, "a"),
    ],
    "reset",
  ),
  receiver("1 MiB without a signature", hook("a".repeat(MEBIBYTE), { "X-Signature": "" })),
  receiver("1 MiB with a signature that is none", hook("a".repeat(MEBIBYTE), { "X-Signature": "sha1=abc" })),
  receiver("compressed", hook(zipped("{}"), GZIP)),
  receiver("a form", hook("a=b", { "Content-Type": "application/x-www-form-urlencoded" })),
  receiver("another method", raw("DELETE /webhooks HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")),
  receiver("15 KB of signature", hook("{}", { "X-Signature": "a".repeat(15_000) })),
];

/** 64 shapes. */
export const shapes = [...ofServer, ...ofReceiver];
