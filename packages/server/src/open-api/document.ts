import { type Schema, type Schemas, TEXT } from "./schema.ts";

/** What operations are about: generators of code make a part for each. */
export interface Tag {
  readonly name: string;
  readonly description: string;
}

/** An operation as both documents of the server describe it. */
export interface DescribedOperation {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Below the prefix of its API, with `{parameters}`. */
  readonly path: string;
  /** Unique in its document. Generators of code make the name of a function from it. */
  readonly id: string;
  /** The name of what it is about. */
  readonly tag: string;
  /** What it does, or answers. */
  readonly summary: string;
  /** What the summary does not say, in one or two sentences. */
  readonly description: string;
}

/** What one document has and the other has not. */
export interface DocumentParts<Operation extends DescribedOperation> {
  readonly title: string;
  readonly description: string;
  /** What each path begins with. */
  readonly prefix: string;
  readonly tags: readonly Tag[];
  readonly operations: readonly Operation[];
  /** What stands of an operation besides its name and its words: parameters, body, responses. */
  readonly describe: (operation: Operation) => Schema;
  readonly schemas: Schemas;
  readonly securitySchemes: Schemas;
  /** The ways in which a request may be authorized, unless its operation has others. */
  readonly security: readonly Schema[];
}

/** An OpenAPI 3.1 document. */
export function documentOf<Operation extends DescribedOperation>({
  title,
  description,
  prefix,
  tags,
  operations,
  describe,
  schemas,
  securitySchemes,
  security,
}: DocumentParts<Operation>): Schema {
  const paths: Record<string, Record<string, Schema>> = {};
  for (const operation of operations) {
    const { id, tag, summary, description: words } = operation;
    const path = (paths[prefix + operation.path] ??= {});
    path[operation.method.toLowerCase()] = {
      operationId: id,
      tags: [tag],
      summary,
      description: words,
      ...describe(operation),
    };
  }
  return {
    openapi: "3.1.0",
    info: { title, version: "1.0.0", description, license: { name: "MIT", identifier: "MIT" } },
    servers: [{ url: "/", description: "The server that this document comes from." }],
    tags,
    paths,
    components: { schemas, securitySchemes },
    security,
  };
}

/** The parameters that a path names. */
export function pathParameters(path: string): readonly Schema[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: TEXT,
  }));
}

/** Parameters of the query string, or of the head. */
export function parametersIn(place: "query" | "header", schemas: Schemas): readonly Schema[] {
  return Object.entries(schemas).map(([name, schema]) => ({ name, in: place, schema }));
}

/** Headers that an answer always has, by name. */
export function headersOf(schemas: Schemas): Schema {
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, { required: true, schema }]),
  );
}
