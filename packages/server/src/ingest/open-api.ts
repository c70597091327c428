import { MAX_CALL_BYTES, MAX_NESTING } from "@countersign/protocol";
import { BROKEN_REQUESTS } from "../broken-request.ts";
import { documentOf, headersOf, parametersIn, pathParameters } from "../open-api/document.ts";
import { ref, type Schema, type Schemas, SECONDS } from "../open-api/schema.ts";
import { GZIP } from "./decode-body.ts";
import type { ErrorCode, IngestOperation, RequestKind } from "./operation.ts";
import { ingestOperations, TAGS } from "./operations.ts";
import { mostBytesOf } from "./record-calls.ts";
import { REFUSALS } from "./refusal.ts";
import { REJECTION_REASONS, statusOf, type RejectionReason } from "./rejections.ts";
import { ingestSchemas, schemaNameOf } from "./schemas.ts";

const DESCRIPTION = [
  "The requests of client libraries, and what the server answers.",
  "Pages of any origin may send them and read the answers, with or without credentials.",
  "A slash more, at the end of a path or between its parts, makes no difference.",
  "A path that is not listed is answered 404 `not_found`, and another method 405 `method_not_allowed` with `Allow`.",
  "The schemas of requests say what is accepted. The server answers 200 to messages that break them, too, and keeps these as rejected, unless strict mode is asked for:",
  "a gateway that refuses what does not match loses the good messages of such a batch.",
].join(" ");

const WRITE_KEY =
  "The write key of a source is the user name, and the password is empty. The colon may be left out. Instead, the key may be the `writeKey` of the body, without a header or with a Bearer token, which is ignored.";

/** The headers of a request whose body is read. */
const OF_BODY: Schemas = {
  "Content-Encoding": { type: "string", enum: ["identity", ...GZIP] },
};

/** The headers of a request that records something. */
const OF_RECORDING: Schemas = {
  "X-Strict-Mode": {
    type: "string",
    description:
      "`1` asks for 400, or for 401 for a write key, where a message is rejected. The good messages of a batch are accepted all the same.",
  },
};

/** The headers of errors, by status, as `refuse` sets them. */
const ERROR_HEADERS: Readonly<Record<number, Schemas>> = {
  429: { "Retry-After": SECONDS, "X-RateLimit-Reset": SECONDS },
  503: { "Retry-After": SECONDS },
};

/** The errors of every operation. */
const OF_ANY: readonly ErrorCode[] = [
  "malformed_request",
  "request_timeout",
  "headers_too_large",
  "unavailable",
];

const ERRORS = { ...BROKEN_REQUESTS, ...REFUSALS };
const REASONS = Object.keys(REJECTION_REASONS) as readonly RejectionReason[];

/** The OpenAPI 3.1 document of the ingestion API. */
export function ingestDocument(): Schema {
  return documentOf({
    title: "Countersign ingestion API",
    description: DESCRIPTION,
    prefix: "/v1",
    tags: TAGS,
    operations: ingestOperations,
    describe,
    schemas: ingestSchemas,
    securitySchemes: { writeKey: { type: "http", scheme: "basic", description: WRITE_KEY } },
    security: [{ writeKey: [] }, {}],
  });
}

function describe(operation: IngestOperation): Schema {
  const { path, query = {}, kind, security, answer } = operation;
  const requestBody = bodyOf(operation);
  return {
    parameters: [
      ...pathParameters(path),
      ...parametersIn("query", query).map((parameter) => ({ ...parameter, required: true })),
      ...parametersIn("header", { ...(kind && requestBody && OF_BODY), ...(kind && OF_RECORDING) }),
    ],
    ...(security && { security }),
    ...(requestBody && { requestBody }),
    responses: {
      200: {
        description: "Done.",
        content: { [answer.type ?? "application/json"]: { schema: answer.schema } },
      },
      ...errorsOf(operation),
    },
  };
}

function bodyOf({ method, kind, body }: IngestOperation): Schema | undefined {
  if (method === "GET") return undefined;
  if (kind === undefined) return { description: body, content: { "*/*": {} } };
  const schema = ref(kind === "batch" ? "Batch" : schemaNameOf(kind));
  return {
    required: true,
    description: `JSON in UTF-8, whatever the content type: browsers send \`text/plain\`. ${limitsOf(kind)}`,
    content: {
      "application/json": { schema },
      "*/*": { schema: { type: "string", contentMediaType: "application/json", contentSchema: schema } },
    },
  };
}

function limitsOf(kind: RequestKind): string {
  const bytes = `At most ${mostBytesOf(kind)} bytes once inflated.`;
  const call = `A call has at most ${MAX_CALL_BYTES} bytes of JSON, without \`writeKey\` and \`sentAt\`, and ${MAX_NESTING} levels of nesting.`;
  if (kind !== "batch") return `${bytes} ${call}`;
  const shared = `The \`context\` and \`integrations\` of the batch have at most ${MAX_CALL_BYTES} bytes together.`;
  return `${bytes} ${call} ${shared}`;
}

function errorsOf({ errors, kind }: IngestOperation): Schema {
  const codes = [...OF_ANY, ...errors];
  const statuses = new Set<number>(codes.map((code) => ERRORS[code].status));
  if (kind) statuses.add(401);
  return Object.fromEntries(
    [...statuses].map((status) => {
      const own = codes.filter((code) => ERRORS[code].status === status);
      const reasons = kind ? REASONS.filter((reason) => statusOf(reason) === status) : [];
      return [status, errorOf(status, own, reasons)];
    }),
  );
}

/** An error of a status: the codes of requests that are refused as a whole, and in strict mode the reasons of rejections. */
function errorOf(status: number, codes: readonly ErrorCode[], reasons: readonly RejectionReason[]): Schema {
  const meanings = codes.map((code) => `\`${code}\`: ${ERRORS[code].message}.`);
  const headers = ERROR_HEADERS[status];
  const schemas = [
    ...(codes.length > 0 ? [withCodes("Error", codes)] : []),
    ...(reasons.length > 0 ? [withCodes("Rejected", reasons)] : []),
  ];
  return {
    description: [...meanings, ...(reasons.length > 0 ? [IN_STRICT_MODE] : [])].join(" "),
    ...(headers && { headers: headersOf(headers) }),
    content: { "application/json": { schema: schemas.length === 1 ? schemas[0] : { anyOf: schemas } } },
  };
}

const IN_STRICT_MODE = "Only in strict mode: a message was rejected.";

function withCodes(name: string, codes: readonly string[]): Schema {
  return {
    allOf: [ref(name), { type: "object", properties: { code: { type: "string", enum: [...codes] } } }],
  };
}
