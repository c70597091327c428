import type { CallType } from "@countersign/protocol";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { BROKEN_REQUESTS } from "../broken-request.ts";
import type { DescribedOperation } from "../open-api/document.ts";
import type { Schema, Schemas } from "../open-api/schema.ts";
import type { DecodingRoom } from "./decoding-room.ts";
import type { Ingest } from "./ingest.ts";
import type { ByteBudget } from "./read-body.ts";
import type { Refusal, RefusalCode } from "./refusal.ts";

/** One request, what answers it, and what an operation works on. */
export interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly ingest: Ingest;
  readonly budget: ByteBudget;
  readonly room: DecodingRoom;
}

/** What a request carries: a batch, or the call that its path names. */
export type RequestKind = "batch" | CallType;

/** The code of an error that an operation answers. */
export type ErrorCode = RefusalCode | keyof typeof BROKEN_REQUESTS;

/** One operation of the ingestion API: the route and its description are made from it, so they cannot disagree. */
export interface IngestOperation extends DescribedOperation {
  readonly method: "GET" | "POST";
  /** Properties of the query string, all required. */
  readonly query?: Schemas;
  /** What it records, if it records something: then messages are judged, and it needs a write key. */
  readonly kind?: RequestKind;
  /** What its body is, if it records nothing. */
  readonly body?: string;
  /** The ways to give the write key, unless they are those of a call. */
  readonly security?: readonly Schema[];
  /** The answer 200. */
  readonly answer: { readonly type?: string; readonly schema: Schema };
  /** The codes of the errors that are not those of every operation. */
  readonly errors: readonly ErrorCode[];
  handle(exchange: Exchange): unknown;
}

/** Answers with an error. All of them are counted: an outage must show in the metrics of its server. */
export function refuse(
  { reply, ingest }: Pick<Exchange, "reply" | "ingest">,
  { status, code, message, detail }: Refusal,
): FastifyReply {
  ingest.countRefusal(code);
  if (status === 503) reply.header("retry-after", "1");
  return reply.code(status).send({ success: false, code, message, detail });
}
