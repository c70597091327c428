import { subscribe } from "node:diagnostics_channel";
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { createServer } from "@countersign/server";
import { send } from "./http.ts";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

interface Described {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly responses: Readonly<Record<string, DescribedAnswer>>;
}

interface DescribedAnswer {
  readonly headers?: Readonly<Record<string, { readonly required?: boolean }>>;
  readonly content?: Readonly<Record<string, { readonly schema: object }>>;
}

/** The part of an OpenAPI document that tests look at. */
export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: { readonly schemas: object };
}

interface Answer {
  readonly api: Api;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  readonly text: string;
}

/** One of the two documents of a server. */
interface Api {
  /** What its paths begin with. */
  readonly prefix: string;
  /** The schema of errors, and their media type. */
  readonly error: object;
  readonly errorType: string;
  /** Statuses of paths and methods that the document does not have, each with its headers. */
  readonly elsewhere: Readonly<Record<number, readonly string[]>>;
  /** What every answer has besides, which the document says in words. */
  readonly ofAll: readonly string[];
}

const CONTROL: Api = {
  prefix: "/api/",
  error: { $ref: "#/components/schemas/Problem" },
  errorType: "application/problem+json",
  elsewhere: { 400: [], 401: ["www-authenticate"], 403: [], 404: [], 405: ["allow"] },
  ofAll: [],
};

const INGESTION: Api = {
  prefix: "/v1/",
  error: { $ref: "#/components/schemas/Error" },
  errorType: "application/json",
  elsewhere: { 400: [], 404: [], 405: ["allow"] },
  // Pages of any origin may read each of them.
  ofAll: ["access-control-allow-origin", "access-control-expose-headers", "vary"],
};

/** What every answer may have, and HTTP or the Fetch standard describes. */
const OF_HTTP = new Set([
  "access-control-allow-credentials",
  "cache-control",
  "connection",
  "content-length",
  "content-type",
  "date",
  "keep-alive",
  "transfer-encoding",
  "x-content-type-options",
]);

const answers: Answer[] = [];

/** The data of messages of event streams. */
const messages: string[] = [];

subscribe("http.server.request.start", (message) => {
  const { request, response } = message as {
    readonly request: IncomingMessage;
    readonly response: ServerResponse;
  };
  const path = asRead(request.url?.split("?")[0] ?? "");
  const api = [CONTROL, INGESTION].find(({ prefix }) => path.startsWith(prefix));
  if (api === undefined) return;
  const chunks: Buffer[] = [];
  const headers: OutgoingHttpHeaders = {};
  const writeHead = response.writeHead.bind(response) as (...args: unknown[]) => ServerResponse;
  Object.assign(response, {
    writeHead: (...args: unknown[]) => {
      Object.assign(headers, response.getHeaders(), args.at(-1));
      return writeHead(...args);
    },
  });
  let stream = "";
  const keep = (chunk: string | Uint8Array): void => {
    if (!String(headers["content-type"]).startsWith("text/event-stream")) {
      chunks.push(Buffer.from(chunk));
      return;
    }
    // It has no end.
    const parts = (stream + Buffer.from(chunk).toString()).split("\n\n");
    stream = parts.pop() ?? "";
    for (const part of parts) messages.push(...(/^data: (.*)$/m.exec(part)?.slice(1) ?? []));
  };
  for (const name of ["write", "end"] as const) {
    const original = response[name].bind(response) as (...args: unknown[]) => unknown;
    Object.assign(response, {
      [name]: (chunk: unknown, ...rest: unknown[]) => {
        if (typeof chunk === "string" || chunk instanceof Uint8Array) keep(chunk);
        return original(chunk, ...rest);
      },
    });
  }
  response.once("finish", () => {
    const text = Buffer.concat(chunks).toString();
    const { statusCode: status } = response;
    // One of a sender without a server has neither API, and knows of neither.
    const isNoServer = status === 404 && String(headers["content-type"]).startsWith(CONTROL.errorType);
    answers.push({
      api: isNoServer ? CONTROL : api,
      method: request.method ?? "",
      path,
      status,
      headers,
      text,
    });
  });
});

let documented: Promise<ReadonlyMap<Api, OpenApi>> | undefined;

/** What a server says of both of its APIs. */
function documents(): Promise<ReadonlyMap<Api, OpenApi>> {
  documented ??= (async () => {
    const server = await createServer({ to: "http://127.0.0.1:9/", port: 0 });
    const read = async ({ prefix }: Api) =>
      (await send(`${server.url}${prefix}openapi.json`)).json() as OpenApi;
    const found = new Map([
      [CONTROL, await read(CONTROL)],
      [INGESTION, await read(INGESTION)],
    ]);
    await server.close();
    return found;
  })();
  return documented;
}

async function documentOf(api: Api): Promise<OpenApi> {
  const document = (await documents()).get(api);
  if (document === undefined) throw new Error(`${api.prefix} has no document`);
  return document;
}

/** What a server says of its control API. */
export function openApi(): Promise<OpenApi> {
  return documentOf(CONTROL);
}

/** What a server says of its ingestion API. */
export function ingestApi(): Promise<OpenApi> {
  return documentOf(INGESTION);
}

/**
 * Fails if an answer of the control API or the ingestion API since the last time was not as its OpenAPI document says: its status, its headers, its media
 * type and its body, or the events of a stream. It sees the answers of every server of the process, whoever asked.
 */
export async function assertDescribed(): Promise<void> {
  const seen = answers.splice(0);
  const told = messages.splice(0);
  if (seen.length + told.length === 0) return;
  const faults = new Set<string>();
  for (const answer of seen) {
    const fault = faultOf(await documentOf(answer.api), answer);
    const { method, path, status, text } = answer;
    if (fault !== undefined)
      faults.add(`${method} ${path} answered ${status}: ${fault}. ${text.slice(0, 500)}`);
  }
  const document = await openApi();
  for (const data of told)
    for (const event of [JSON.parse(data) as LiveEvent | readonly LiveEvent[]].flat()) {
      const mistakes = mistakesOf(document, schemaOfEvent(document, event), event);
      if (mistakes !== undefined) faults.add(`The event ${event.event}: ${mistakes}. ${data.slice(0, 500)}`);
    }
  if (faults.size > 0)
    throw new Error(`Answers that the OpenAPI document does not describe:\n${[...faults].join("\n")}`);
}

function faultOf(document: OpenApi, answer: Answer): string | undefined {
  const { api, method, path, status, headers, text } = answer;
  const fullType = String(headers["content-type"] ?? "");
  const type = fullType.split(";")[0] ?? "";
  if (path === `${api.prefix}openapi.json` && status === 200) return undefined;
  // The Fetch standard describes a preflight.
  if (api === INGESTION && method === "OPTIONS" && status === 204) return undefined;
  const described = answerFor(document, answer);
  if (described === undefined) return "the status is not described";
  const wanted = Object.entries(described.headers ?? {});
  const known = new Set(wanted.map(([name]) => name.toLowerCase()));
  const unknown = Object.keys(headers).find((name) => !OF_HTTP.has(name) && !known.has(name));
  if (unknown !== undefined) return `the header ${unknown} is not described`;
  const missing = wanted.find(
    ([name, { required }]) => required && headers[name.toLowerCase()] === undefined,
  );
  if (missing) return `the header ${missing[0]} is missing`;
  const { content = {} } = described;
  if (Object.keys(content).length === 0) return text === "" ? undefined : "a body is not described";
  const schema = (content[fullType] ?? content[type])?.schema;
  if (schema === undefined) return `the media type ${JSON.stringify(type)} is not described`;
  return type.endsWith("json") ? mistakesOf(document, schema, JSON.parse(text)) : undefined;
}

function answerFor(document: OpenApi, { api, method, path, status }: Answer): DescribedAnswer | undefined {
  // A malformed path is refused before it is known what it names.
  const operation = path.includes("%") && status === 400 ? undefined : operationFor(document, method, path);
  const described = operation ? operation.responses[status] : elsewhere(api, status);
  return described && { ...described, headers: { ...described.headers, ...requiredHeaders(api.ofAll) } };
}

function elsewhere(
  { elsewhere: headersOf, error, errorType }: Api,
  status: number,
): DescribedAnswer | undefined {
  const headers = headersOf[status];
  return (
    headers && {
      headers: requiredHeaders(headers),
      content: { [errorType]: { schema: error } },
    }
  );
}

function requiredHeaders(names: readonly string[]): NonNullable<DescribedAnswer["headers"]> {
  return Object.fromEntries(names.map((name) => [name, { required: true }]));
}

function operationFor({ paths }: OpenApi, method: string, path: string): Described | undefined {
  const exact = paths[path];
  if (exact) return exact[method.toLowerCase()];
  const templates = Object.entries(paths).filter(([template]) =>
    new RegExp(`^${template.replaceAll(/\{\w+\}/g, "[^/]*")}$`).test(path),
  );
  return templates.map(([, operations]) => operations[method.toLowerCase()]).find((one) => one !== undefined);
}

/** A path as the server reads it. */
function asRead(path: string): string {
  return path.replaceAll(/\/+/g, "/").replace(/\/$/, "");
}

interface LiveEvent {
  readonly event: string;
}

const NO_EVENT = { not: {} };

/** That of the one event, since to try them all says of a mistake what is wrong with each of the others. */
function schemaOfEvent({ components }: OpenApi, { event }: LiveEvent): object {
  const { Event, ...schemas } = components.schemas as Readonly<Record<string, EventSchema>>;
  const names = (Event?.oneOf ?? []).map(({ $ref }) => $ref.slice("#/components/schemas/".length));
  return (
    names.map((name) => schemas[name]).find((one) => one?.properties?.["event"]?.const === event) ?? NO_EVENT
  );
}

interface EventSchema {
  readonly oneOf?: readonly { readonly $ref: string }[];
  readonly properties?: Readonly<Record<string, { readonly const?: unknown }>>;
}

const validators = new Map<object, ValidateFunction>();

function mistakesOf({ components }: OpenApi, schema: object, value: unknown): string | undefined {
  let validate = validators.get(schema);
  if (!validate) {
    const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, keywords: ["components"] });
    addFormats.default(ajv);
    validate = ajv.compile({ ...schema, components });
    validators.set(schema, validate);
  }
  if (validate(value)) return undefined;
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`).join(", ");
}
