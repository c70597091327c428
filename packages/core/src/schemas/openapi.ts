import { ERROR_CODES, WebhookError, type WebhookErrorCode } from "../errors.ts";
import type { JsonObject, JsonValue } from "@countersign/protocol";
import { schemaName, TYPES, typeSchemas, unionSchema } from "./message-schema.ts";
import { PROBLEM_TITLES } from "../receiver/response.ts";

const SIGNATURE_HEADER = "X-Signature";

/** Options of {@link openApiDocument}. */
export interface OpenApiOptions {
  /** Title of the document. Default: `Webhook receiver`. */
  readonly title?: string | undefined;
  /** Version of the document. Default: `1.0.0`. */
  readonly version?: string | undefined;
}

/**
 * An OpenAPI 3.1 document of the requests that a receiver gets, as `webhooks`, and of its responses.
 *
 * @param options - Title and version of the document.
 * @returns A new document: you may change it, or serve it with `JSON.stringify`.
 * @example
 * ```ts
 * app.get("/openapi.json", (_request, response) => response.json(openApiDocument({ title: "Shop webhooks" })));
 * ```
 */
export function openApiDocument(options: OpenApiOptions = {}): Record<string, JsonValue> {
  const { title = "Webhook receiver", version = "1.0.0" } = options;
  const schemas = "#/components/schemas/";
  const mapping = Object.fromEntries(TYPES.map((type) => [type, schemas + schemaName(type)]));
  return {
    openapi: "3.1.0",
    info: { title, version, description: "Forwarded analytics events, signed with HMAC-SHA1." },
    servers: [{ url: "/", description: "The receiver. Its URL is set at the sender." }],
    webhooks: { message: { post: operation(`${schemas}WebhookMessage`) } },
    security: [{ signature: [] }],
    components: {
      securitySchemes: {
        signature: {
          type: "apiKey",
          in: "header",
          name: SIGNATURE_HEADER,
          description: "No fixed key, but the signature of the body: see the parameter.",
        },
      },
      schemas: {
        WebhookMessage: { ...unionSchema(schemas), discriminator: { propertyName: "type", mapping } },
        ...typeSchemas(),
        Problem: problemSchema(),
      },
    },
  };
}

function operation(schema: string): JsonObject {
  return {
    operationId: "receiveMessage",
    summary: "A forwarded message",
    description:
      "Sent at least once for each message: repeats have the same messageId. Answer within 5 seconds, or the delivery counts as failed.",
    parameters: [signatureParameter()],
    requestBody: {
      required: true,
      description: "The signature is made over these exact bytes.",
      content: { "application/json": { schema: { $ref: schema } } },
    },
    responses: responses(),
  };
}

function signatureParameter(): JsonObject {
  return {
    name: SIGNATURE_HEADER,
    in: "header",
    required: true,
    description:
      "Hex HMAC-SHA1 of the body, keyed with the shared secret. The sender leaves it out if no secret is set; such a message is rejected by default.",
    schema: { type: "string", pattern: "^[0-9A-Fa-f]{40}$" },
    example: "5d61605c3feea9799210ddcb71307d4ba264225f",
  };
}

function responses(): JsonObject {
  const statuses = new Set(ERROR_CODES.map((code) => new WebhookError(code).status));
  return {
    "2XX": { description: "The message was handled, now or earlier. It is not sent again." },
    ...Object.fromEntries([...statuses].map((status) => [String(status), problemResponse(status)])),
    "4XX": {
      description: "The message is rejected and not sent again, except after 408 and 429.",
    },
    "5XX": { description: "The message was not handled. It is sent again for up to 4 hours." },
  };
}

/** The meaning of one status: the codes that are answered with it, and whether the sender tries again. */
function problemResponse(status: number): JsonObject {
  const errors = ERROR_CODES.map((code) => new WebhookError(code)).filter((error) => error.status === status);
  const lines = errors.map((error) => `${error.code}: ${error.message}`);
  lines.push(
    status >= 500 ? "The message is sent again for up to 4 hours." : "The message is not sent again.",
  );
  const headers = Object.keys(Object.assign({}, ...errors.map((error) => error.headers)) as object);
  return {
    description: `${PROBLEM_TITLES[status] ?? "Error"}. ${lines.join(" ")}`,
    ...(headers.length > 0 ? { headers: headerSchemas(headers) } : {}),
    content: {
      "application/problem+json": {
        schema: {
          allOf: [
            { $ref: "#/components/schemas/Problem" },
            { properties: { status: { const: status }, code: { enum: errors.map((error) => error.code) } } },
          ],
        },
      },
    },
  };
}

const HEADER_DESCRIPTION: Readonly<Record<string, string>> = {
  allow: "The only accepted method.",
  connection: "The rest of the body is not read.",
  "retry-after": "Seconds to wait before the next attempt.",
};

function headerSchemas(names: readonly string[]): JsonObject {
  return Object.fromEntries(
    names.map((name) => [name, { description: HEADER_DESCRIPTION[name] ?? "", schema: { type: "string" } }]),
  );
}

function problemSchema(): JsonObject {
  const codes: readonly WebhookErrorCode[] = ERROR_CODES;
  return {
    title: "Problem",
    description: "Why a request was not accepted (RFC 9457).",
    type: "object",
    required: ["type", "title", "status", "detail", "code"],
    properties: {
      type: { type: "string", const: "about:blank" },
      title: { type: "string" },
      status: { type: "integer" },
      detail: { type: "string", description: "What was wrong, for people." },
      code: { type: "string", enum: [...codes], description: "What was wrong, for programs. Stable." },
    },
  };
}
