import { CALL_TYPES, type CallType } from "@countersign/protocol";
import type { Tag } from "../open-api/document.ts";
import { ref } from "../open-api/schema.ts";
import { rudderSettings, segmentSettings, UNKNOWN_WRITE_KEY } from "./bootstrap.ts";
import { refuse, type ErrorCode, type IngestOperation, type RequestKind } from "./operation.ts";
import { dropBody, recordBody, recordPixel } from "./record-calls.ts";
import { schemaNameOf } from "./schemas.ts";

const GIF = "image/gif";

const CALLS = "Calls";
const BROWSERS = "Browsers";

/** What operations are about. */
export const TAGS: readonly Tag[] = [
  { name: CALLS, description: "What programs record, one call or many." },
  { name: BROWSERS, description: "What browser libraries and pixels request." },
];

const OF_A_RECORDING: readonly ErrorCode[] = [
  "invalid_json",
  "invalid_gzip",
  "unsupported_encoding",
  "payload_too_large",
  "rate_limited",
  "store_full",
];
/** Of a body that is awaited. */
const UNFINISHED: readonly ErrorCode[] = ["body_aborted", "overloaded"];

const OF_BATCH =
  "Each message is judged on its own: one that cannot be forwarded is kept with the reason, and the others are accepted. To send the batch again is safe, because repeats are recognised by their `messageId`.";
const OF_CALL =
  "The path says the type, so a `type` in the body is ignored. To send the call again is safe if it has a `messageId`.";
const SHORT = "Browser libraries use this path.";

/** What each type of call is for. */
const MEANING: Readonly<Record<CallType, string>> = {
  identify: "who a user is",
  track: "what a user did",
  page: "that a user viewed a page",
  screen: "that a user viewed a screen of an app",
  group: "that a user belongs to a group",
  alias: "that two identities are one user",
};

/** Every operation of the ingestion API. */
export const ingestOperations: readonly IngestOperation[] = [
  recording("batch", CALLS, {
    path: "/batch",
    id: "sendBatch",
    summary: "Records the calls of a batch.",
    description: OF_BATCH,
  }),
  recording("batch", CALLS, {
    path: "/import",
    id: "importBatch",
    summary: "Records the calls of a batch, like `/v1/batch`.",
    description: `Libraries for historical imports use this path. ${OF_BATCH}`,
  }),
  ...CALL_TYPES.map((type) =>
    recording(type, CALLS, {
      path: `/${type}`,
      id: type,
      summary: `Records ${MEANING[type]}.`,
      description: OF_CALL,
    }),
  ),
  recording("batch", BROWSERS, {
    path: "/b",
    id: "sendBatchShort",
    summary: "Records the calls of a batch, like `/v1/batch`.",
    description: `${SHORT} ${OF_BATCH}`,
  }),
  ...CALL_TYPES.map((type) =>
    recording(type, BROWSERS, {
      path: `/${type.charAt(0)}`,
      id: `${type}Short`,
      summary: `Records ${MEANING[type]}, like \`/v1/${type}\`.`,
      description: `${SHORT} ${OF_CALL}`,
    }),
  ),
  ...CALL_TYPES.map(pixel),
  {
    method: "GET",
    path: "/projects/{writeKey}/settings",
    id: "getProjectSettings",
    tag: BROWSERS,
    summary: "The settings for `AnalyticsBrowser.load({ writeKey, cdnURL })` of @segment/analytics-next.",
    description:
      "They tell the library to send its calls to the address that the request came to, and no figures about itself.",
    security: [],
    answer: { schema: ref("ProjectSettings") },
    errors: ["unknown_write_key", "malformed_url"],
    handle(exchange) {
      const { request, ingest } = exchange;
      const { writeKey } = request.params as { readonly writeKey: string };
      return segmentSettings(request, writeKey, ingest) ?? refuse(exchange, UNKNOWN_WRITE_KEY);
    },
  },
  {
    method: "GET",
    path: "/sourceConfig",
    id: "getSourceConfig",
    tag: BROWSERS,
    summary: "The settings for `load(writeKey, dataPlaneUrl, { configUrl })` of Rudder's libraries.",
    description: "They name no destination, so the library sends its calls to its `dataPlaneUrl` only.",
    security: [{ writeKey: [] }],
    answer: { schema: ref("SourceConfig") },
    errors: ["unknown_write_key"],
    handle: (exchange) =>
      rudderSettings(exchange.request, exchange.ingest) ?? refuse(exchange, UNKNOWN_WRITE_KEY),
  },
  {
    method: "POST",
    path: "/m",
    id: "sendMetrics",
    tag: BROWSERS,
    summary: "Takes the figures of a library about itself.",
    description:
      "They are not kept. The answer is a success, so that the page of the library shows no error.",
    security: [],
    body: "Anything: it is dropped.",
    answer: { schema: ref("Success") },
    errors: ["payload_too_large", ...UNFINISHED],
    handle: dropBody,
  },
];

type Words = Pick<IngestOperation, "path" | "id" | "summary" | "description">;

function recording(kind: RequestKind, tag: string, words: Words): IngestOperation {
  return {
    ...words,
    method: "POST",
    tag,
    kind,
    answer: { schema: ref("Success") },
    errors: [...OF_A_RECORDING, ...UNFINISHED],
    handle: (exchange) => recordBody(exchange, kind),
  };
}

function pixel(type: CallType): IngestOperation {
  return {
    method: "GET",
    path: `/pixel/${type}`,
    id: `${type}Pixel`,
    tag: BROWSERS,
    summary: `Records ${MEANING[type]}, and answers with a transparent image.`,
    description:
      "For mail programs, which load images and run no library. The call has its `writeKey` in its JSON, since an image has no header.",
    kind: type,
    query: {
      data: {
        type: "string",
        minLength: 1,
        contentEncoding: "base64",
        contentMediaType: "application/json",
        contentSchema: ref(schemaNameOf(type)),
        description: "The JSON of the call, as base64.",
      },
    },
    answer: { type: GIF, schema: { type: "string", contentMediaType: GIF } },
    errors: ["no_data", ...OF_A_RECORDING],
    handle: (exchange) => recordPixel(exchange, type),
  };
}
