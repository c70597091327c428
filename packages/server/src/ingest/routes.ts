import { setMaxListeners } from "node:events";
import { CALL_TYPES, MAX_BATCH_BYTES, MAX_CALL_BYTES, type Clock } from "@countersign/protocol";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { watchMethods } from "../allowed-methods.ts";
import { rudderSettings, segmentSettings, UNKNOWN_WRITE_KEY } from "./bootstrap.ts";
import { openToBrowsers } from "./cors.ts";
import { decodeBody, mostDecodedBytes } from "./decode-body.ts";
import { DecodingRoom } from "./decoding-room.ts";
import { StoreFullError, type Ingest } from "./ingest.ts";
import { interpretRequest, type IngestRequest } from "./interpret-request.ts";
import { NO_PIXEL_DATA, pixelCall, sendPixel } from "./pixel.ts";
import { ByteBudget, readBody } from "./read-body.ts";
import type { ReadIntegers } from "./read-integers.ts";
import type { Refusal } from "./refusal.ts";
import { rejection, type Rejection } from "./rejections.ts";
import { readWriteKey } from "./write-key.ts";

/** Every path below /v1, with the short one that browser libraries use, and what it carries. */
const PATHS: readonly (readonly [path: string, kind: IngestRequest["kind"]])[] = [
  ["/batch", "batch"],
  ["/b", "batch"],
  ["/import", "batch"],
  ...CALL_TYPES.flatMap((type) => [[`/${type}`, type] as const, [`/${type.charAt(0)}`, type] as const]),
];

/** What the body of a single call may have besides the call: its write key and `sentAt`. The call is measured without them. */
const ENVELOPE_BYTES = 1_024;
/** The bodies of all requests under way hold no more than this. */
const MAX_BODY_BYTES_AT_ONCE = 64 * 1_024 * 1_024;
/** What is worked on at the same time, when inflated: eight of the largest batches, whose values take some 100 MB. */
const MAX_DECODED_BYTES_AT_ONCE = 4 * 1_024 * 1_024;
const MAX_REJECTIONS_TOLD = 100;

/** Options of {@link ingestRoutes}. */
interface IngestRoutesOptions {
  readonly ingest: Ingest;
  /** Ends requests that wait for too long. Default: the clock of the machine. */
  readonly clock?: Pick<Clock, "now" | "schedule">;
}

/** Adds the ingestion API (the public wire format, docs/ingestion.md) to a scope of a Fastify server, to be registered under `/v1`. */
export async function ingestRoutes(
  scope: FastifyInstance,
  { ingest, clock }: IngestRoutesOptions,
): Promise<void> {
  const budget = new ByteBudget(MAX_BODY_BYTES_AT_ONCE);
  const room = new DecodingRoom(MAX_DECODED_BYTES_AT_ONCE, clock);
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser("*", (_request, _payload, done) => done(null));
  scope.addHook("onRequest", (request, _reply, done) => {
    // The body is JSON whatever the header says. Fastify would answer 415 to an invalid header, and 400 to a QUERY without one.
    request.raw.headers["content-type"] = "application/json";
    done();
  });
  openToBrowsers(scope);
  scope.setErrorHandler(async (error, _request, reply) => {
    const isFull = error instanceof StoreFullError;
    if (!isFull) ingest.onError(error);
    return refuse({ reply, ingest }, isFull ? STORE_FULL : UNAVAILABLE);
  });
  const allowedMethods = watchMethods(scope);
  scope.setNotFoundHandler(async ({ method, url }, reply) => {
    const [allowed] = allowedMethods(url);
    if (allowed === undefined) return refuse({ reply, ingest }, NOT_FOUND);
    reply.header("allow", `${allowed}, OPTIONS`);
    return refuse({ reply, ingest }, methodNotAllowed(method, allowed));
  });
  for (const [path, kind] of PATHS)
    scope.post(path, async (request, reply) =>
      handle({ request, reply, kind, ingest, budget, room, succeed: sendSuccess }),
    );
  addBrowserRoutes(scope, { ingest, budget, room });
}

/** The paths that browser libraries request besides recording calls. */
function addBrowserRoutes(
  scope: FastifyInstance,
  { ingest, budget, room }: Pick<Exchange, "ingest" | "budget" | "room">,
): void {
  scope.get<{ Params: { writeKey: string } }>("/projects/:writeKey/settings", async (request, reply) => {
    const settings = segmentSettings(request, request.params.writeKey, ingest);
    return settings ?? refuse({ reply, ingest }, UNKNOWN_WRITE_KEY);
  });
  scope.get("/sourceConfig", async (request, reply) => {
    const settings = rudderSettings(request, ingest);
    return settings ?? refuse({ reply, ingest }, UNKNOWN_WRITE_KEY);
  });
  for (const kind of CALL_TYPES) {
    scope.get(`/pixel/${kind}`, async (request, reply) => {
      const exchange = { request, reply, kind, ingest, budget, room, succeed: sendPixel };
      const bytes = pixelCall(request.query);
      if (!bytes) return refuse(exchange, NO_PIXEL_DATA);
      const maxBytes = MAX_CALL_BYTES + ENVELOPE_BYTES;
      return record(exchange, { bytes, maxBytes, receivedAt: ingest.now() });
    });
  }
  // Figures of a library about itself: taken, so that its page shows no error, and not kept.
  scope.post("/m", async (request, reply) => {
    const body = await readBody(request.raw, MAX_CALL_BYTES, budget);
    if (!body.ok) return refuse({ reply, ingest }, body.refusal);
    body.release();
    return { success: true };
  });
}

interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly kind: IngestRequest["kind"];
  readonly ingest: Ingest;
  readonly budget: ByteBudget;
  readonly room: DecodingRoom;
  /** Answers that everything was recorded. */
  readonly succeed: (reply: FastifyReply) => FastifyReply;
}

async function handle(exchange: Exchange): Promise<FastifyReply> {
  const { request, kind, ingest, budget } = exchange;
  const receivedAt = ingest.now();
  const maxBytes = kind === "batch" ? MAX_BATCH_BYTES : MAX_CALL_BYTES + ENVELOPE_BYTES;
  const body = await readBody(request.raw, maxBytes, budget);
  if (!body.ok) return refuse(exchange, body.refusal);
  try {
    return await record(exchange, { bytes: body.bytes, maxBytes, receivedAt });
  } finally {
    body.release();
  }
}

interface ReceivedBody {
  readonly bytes: Buffer;
  readonly maxBytes: number;
  readonly receivedAt: number;
}

async function record(exchange: Exchange, received: ReceivedBody): Promise<FastifyReply> {
  const { request, reply, ingest, room } = exchange;
  const wait = ingest.rateLimit();
  if (wait !== undefined) return refuse(exchange, rateLimited(reply, wait));
  const { bytes, maxBytes, receivedAt } = received;
  const encoding = request.headers["content-encoding"];
  const place = await room.enter(mostDecodedBytes(bytes, encoding, maxBytes), connectionOf(request));
  if (place === undefined) return refuse(exchange, UNAVAILABLE);
  try {
    const decoded = await decodeBody(bytes, encoding, maxBytes);
    if (!decoded.ok) return refuse(exchange, decoded.refusal);
    place.shrink(decoded.bytes);
    return await recordDecoded(exchange, decoded, receivedAt);
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
  exchange: Exchange,
  { value, unsafeIntegers }: ReadIntegers,
  receivedAt: number,
): Promise<FastifyReply> {
  const { request, kind, ingest } = exchange;
  const source = findSource(request.headers.authorization, value, ingest);
  if (typeof source !== "string") return conclude(exchange, [source]);
  const ip = clientAddress(request.raw.socket.remoteAddress);
  const strict = isStrict(request);
  const read = await interpretRequest({ kind, body: value, receivedAt, ip, unsafeIntegers, strict });
  if (!read.ok) return refuse(exchange, read.refusal);
  const { refused } = await ingest.accept(source, read.calls);
  if (read.warnings.length > 0) ingest.keepWarnings(read.warnings, source);
  return conclude(exchange, [...read.rejections, ...refused], source);
}

/** Answers with an error. All of them are counted: an outage must show in the metrics of its server. */
function refuse(
  { reply, ingest }: Pick<Exchange, "reply" | "ingest">,
  { status, code, message, detail }: Refusal,
): FastifyReply {
  ingest.countRefusal(code);
  if (status === 503) reply.header("retry-after", "1");
  return reply.code(status).send({ success: false, code, message, detail });
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
  { request, reply, ingest, succeed }: Exchange,
  rejections: readonly Rejection[],
  source?: string,
): Promise<FastifyReply> {
  const [first] = rejections;
  if (first) await ingest.keepRejections(rejections, source);
  if (!first || !isStrict(request)) return succeed(reply);
  const aboutTheKey = first.reason === "no_write_key" || first.reason === "unknown_write_key";
  return reply.code(aboutTheKey ? 401 : 400).send({
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
  return { status: 429, code: "rate_limited", message: "Too many requests", detail: "Retry later." };
}

/** IPv4 clients of a socket that listens on both appear as `::ffff:10.0.0.1`. */
function clientAddress(remote: string | undefined): string | undefined {
  return remote?.replace(/^::ffff:(?=\d+\.)/, "");
}

const UNAVAILABLE: Refusal = {
  status: 503,
  code: "unavailable",
  message: "The messages could not be stored",
  detail: "Send the request again: messages that are already stored are recognised by messageId.",
};

const STORE_FULL: Refusal = {
  status: 503,
  code: "store_full",
  message: "The store is full",
  detail:
    "Nothing can be stored until deliveries have ended, or the operator has made room; /readyz says why. Send the request again later.",
};

const NOT_FOUND: Refusal = {
  status: 404,
  code: "not_found",
  message: "Path not found",
  detail: "The paths are /v1/batch, /v1/import and /v1/{identify,track,page,screen,group,alias}.",
};

function methodNotAllowed(method: string, allowed: string): Refusal {
  const detail = `This path does not take ${method}. Use ${allowed}.`;
  return { status: 405, code: "method_not_allowed", message: `Use ${allowed}`, detail };
}
