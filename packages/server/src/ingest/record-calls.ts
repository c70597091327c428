import { setMaxListeners } from "node:events";
import { MAX_BATCH_BYTES, MAX_CALL_BYTES } from "@countersign/protocol";
import type { FastifyReply, FastifyRequest } from "fastify";
import { decodeBody, mostDecodedBytes } from "./decode-body.ts";
import type { Ingest } from "./ingest.ts";
import { interpretRequest } from "./interpret-request.ts";
import { refuse, type Exchange, type RequestKind } from "./operation.ts";
import { NO_PIXEL_DATA, pixelCall, sendPixel } from "./pixel.ts";
import { readBody } from "./read-body.ts";
import type { ReadIntegers } from "./read-integers.ts";
import { refusal, type Refusal } from "./refusal.ts";
import { rejection, statusOf, type Rejection } from "./rejections.ts";
import { readWriteKey } from "./write-key.ts";

/** What the body of a single call may have besides the call: its write key and `sentAt`. The call is measured without them. */
const ENVELOPE_BYTES = 1_024;

/** The most rejected messages that an answer lists. */
export const MAX_REJECTIONS_TOLD = 100;

/** The most bytes of a body, once inflated. */
export function mostBytesOf(kind: RequestKind): number {
  return kind === "batch" ? MAX_BATCH_BYTES : MAX_CALL_BYTES + ENVELOPE_BYTES;
}

/** A request to record something. */
interface Recording extends Exchange {
  readonly kind: RequestKind;
  /** Answers that everything was recorded. */
  readonly succeed: (reply: FastifyReply) => FastifyReply;
}

/** Records what the body of a request carries. */
export async function recordBody(exchange: Exchange, kind: RequestKind): Promise<FastifyReply> {
  const { request, ingest, budget } = exchange;
  const receivedAt = ingest.now();
  const body = await readBody(request.raw, mostBytesOf(kind), budget);
  if (!body.ok) return refuse(exchange, body.refusal);
  try {
    return await record({ ...exchange, kind, succeed: sendSuccess }, body.bytes, receivedAt);
  } finally {
    body.release();
  }
}

/** Records the call in the query string of a pixel. */
export async function recordPixel(exchange: Exchange, kind: RequestKind): Promise<FastifyReply> {
  const bytes = pixelCall(exchange.request.query);
  if (!bytes) return refuse(exchange, NO_PIXEL_DATA);
  return record({ ...exchange, kind, succeed: sendPixel }, bytes, exchange.ingest.now());
}

/** Takes a body and drops it. */
export async function dropBody(exchange: Exchange): Promise<FastifyReply> {
  const body = await readBody(exchange.request.raw, MAX_CALL_BYTES, exchange.budget);
  if (!body.ok) return refuse(exchange, body.refusal);
  body.release();
  return sendSuccess(exchange.reply);
}

async function record(recording: Recording, bytes: Buffer, receivedAt: number): Promise<FastifyReply> {
  const { request, reply, ingest, room, kind } = recording;
  const wait = ingest.rateLimit();
  if (wait !== undefined) return refuse(recording, rateLimited(reply, wait));
  const encoding = request.headers["content-encoding"];
  const maxBytes = mostBytesOf(kind);
  const place = await room.enter(mostDecodedBytes(bytes, encoding, maxBytes), connectionOf(request));
  if (place === undefined) return refuse(recording, UNAVAILABLE);
  try {
    const decoded = await decodeBody(bytes, encoding, maxBytes);
    if (!decoded.ok) return refuse(recording, decoded.refusal);
    place.shrink(decoded.bytes);
    return await recordDecoded(recording, decoded, receivedAt);
  } finally {
    place.leave();
  }
}

/** Whose client waits for an answer until it closes: the response to a pipelined request is not told of that. */
function connectionOf({ raw: { socket } }: FastifyRequest): FastifyRequest["raw"]["socket"] {
  // Each of its requests that wait listens.
  setMaxListeners(0, socket);
  return socket;
}

async function recordDecoded(
  recording: Recording,
  { value, unsafeIntegers }: ReadIntegers,
  receivedAt: number,
): Promise<FastifyReply> {
  const { request, kind, ingest } = recording;
  const source = findSource(request.headers.authorization, value, ingest);
  if (typeof source !== "string") return conclude(recording, [source]);
  const ip = clientAddress(request.raw.socket.remoteAddress);
  const strict = isStrict(request);
  const read = await interpretRequest({ kind, body: value, receivedAt, ip, unsafeIntegers, strict });
  if (!read.ok) return refuse(recording, read.refusal);
  const { refused } = await ingest.accept(source, read.calls);
  if (read.warnings.length > 0) ingest.keepWarnings(read.warnings, source);
  return conclude(recording, [...read.rejections, ...refused], source);
}

function sendSuccess(reply: FastifyReply): FastifyReply {
  return reply.send({ success: true });
}

function findSource(authorization: string | undefined, body: unknown, ingest: Ingest): string | Rejection {
  const writeKey = readWriteKey(authorization, body, ingest.isWriteKey);
  if (writeKey === undefined) return rejection("no_write_key", body);
  return ingest.findSource(writeKey) ?? rejection("unknown_write_key", body);
}

function isStrict({ headers }: FastifyRequest): boolean {
  return headers["x-strict-mode"] === "1";
}

async function conclude(
  { request, reply, ingest, succeed }: Recording,
  rejections: readonly Rejection[],
  source?: string,
): Promise<FastifyReply> {
  const [first] = rejections;
  if (first) await ingest.keepRejections(rejections, source);
  if (!first || !isStrict(request)) return succeed(reply);
  return reply.code(statusOf(first.reason)).send({
    success: false,
    code: first.reason,
    message: first.detail,
    rejected: rejections
      .slice(0, MAX_REJECTIONS_TOLD)
      .map(({ index, messageId, reason, detail }) => ({ index, messageId, reason, detail })),
  });
}

function rateLimited(reply: FastifyReply, seconds: number): Refusal {
  reply.header("retry-after", String(seconds)).header("x-ratelimit-reset", String(seconds));
  return refusal("rate_limited", "Retry later.");
}

/** IPv4 clients of a socket that listens on both appear as `::ffff:10.0.0.1`. */
function clientAddress(remote: string | undefined): string | undefined {
  return remote?.replace(/^::ffff:(?=\d+\.)/, "");
}

/** The answer to what may be sent again. */
export const UNAVAILABLE: Refusal = refusal(
  "unavailable",
  "Send the request again: messages that are already stored are recognised by messageId.",
);
