import type { Clock } from "@countersign/protocol";
import type { FastifyInstance } from "fastify";
import { watchMethods } from "../allowed-methods.ts";
import { addDocument } from "../open-api/add-document.ts";
import { openToBrowsers } from "./cors.ts";
import { DecodingRoom } from "./decoding-room.ts";
import { StoreFullError, type Ingest } from "./ingest.ts";
import { ingestDocument } from "./open-api.ts";
import { refuse } from "./operation.ts";
import { ingestOperations } from "./operations.ts";
import { ByteBudget } from "./read-body.ts";
import { UNAVAILABLE } from "./record-calls.ts";
import { refusal } from "./refusal.ts";

/** The bodies of all requests under way hold no more than this. */
const MAX_BODY_BYTES_AT_ONCE = 64 * 1_024 * 1_024;
/** What is worked on at the same time, when inflated: eight of the largest batches, whose values take some 100 MB. */
const MAX_DECODED_BYTES_AT_ONCE = 4 * 1_024 * 1_024;

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
    const allowed = allowedMethods(url);
    if (allowed.length === 0) return refuse({ reply, ingest }, NOT_FOUND);
    reply.header("allow", [...allowed, "OPTIONS"].join(", "));
    const use = `Use ${allowed.join(" or ")}`;
    const detail = `This path does not take ${method}. ${use}.`;
    return refuse({ reply, ingest }, refusal("method_not_allowed", detail, use));
  });
  addDocument(scope, ingestDocument);
  for (const operation of ingestOperations)
    scope.route({
      method: operation.method,
      url: operation.path.replaceAll(/\{(\w+)\}/g, ":$1"),
      exposeHeadRoute: false,
      handler: async (request, reply) => operation.handle({ request, reply, ingest, budget, room }),
    });
}

const STORE_FULL = refusal(
  "store_full",
  "Nothing can be stored until deliveries have ended, or the operator has made room; /readyz says why. Send the request again later.",
);

const NOT_FOUND = refusal(
  "not_found",
  "The paths are /v1/batch, /v1/import and /v1/{identify,track,page,screen,group,alias}. /v1/openapi.json describes them, and those of browser libraries.",
);
