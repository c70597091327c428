import type { CountersignServer } from "@countersign/server";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { expect } from "vitest";
import { send, type Answer } from "./http.ts";

interface Documented {
  readonly operationId: string;
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: object }>> }>
  >;
}

/** The part of an OpenAPI document that tests look at. */
export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Documented>>>>;
  readonly components: { readonly schemas: object };
}

/** How an operation is called. */
export interface CallSettings {
  readonly at?: CountersignServer;
  readonly headers?: Record<string, string>;
}

/** Calls operations of the control API, and holds each answer to the document that the server gives of itself. */
export function apiCaller(server: () => CountersignServer) {
  async function documentOf(at: CountersignServer = server()): Promise<OpenApi> {
    return (await send(`${at.url}/api/openapi.json`)).json() as OpenApi;
  }

  async function call(
    method: string,
    path: string,
    body?: unknown,
    { at = server(), headers = {} }: CallSettings = {},
  ): Promise<Answer> {
    const document = await documentOf(at);
    const answer = await send(`${at.url}/api${path}`, { method, body, headers });
    const operation = operationOf(document, method, `/api${path.split("?")[0]}`);
    const response = operation.responses[answer.status];
    if (!response) {
      throw new Error(
        `${operation.operationId} answered ${answer.status}, which is not documented: ${answer.text}`,
      );
    }
    const content = response.content?.[String(answer.headers["content-type"]).split(";")[0] ?? ""];
    if (content) assertValid(document, content.schema, answer.json());
    else expect(answer.text).toBe("");
    return answer;
  }

  return { call, documentOf };
}

function operationOf(document: OpenApi, method: string, path: string): Documented {
  const exact = document.paths[path]?.[method.toLowerCase()];
  if (exact) return exact;
  for (const [template, operations] of Object.entries(document.paths)) {
    const pattern = new RegExp(`^${template.replaceAll(/\{\w+\}/g, "[^/]+")}$`);
    const operation = operations[method.toLowerCase()];
    if (pattern.test(path) && operation) return operation;
  }
  throw new Error(`${method} ${path} is not documented`);
}

function assertValid(document: OpenApi, schema: object, value: unknown): void {
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  const validate: ValidateFunction = ajv.compile({ ...schema, components: document.components });
  validate(value);
  expect(validate.errors).toBeNull();
}
