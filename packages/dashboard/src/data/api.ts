import { withQuery, type Query } from "../route/query.ts";
import { signal } from "../signals/signals.ts";
import type { Count } from "../shapes/types.ts";

/** One wrong part of what was sent. */
export interface FieldError {
  /** JSON pointer into the request's body. */
  readonly pointer?: string;
  readonly parameter?: string;
  readonly detail: string;
  readonly rule?: string;
}

/** An answer of the control API that is an error (RFC 9457), or no answer at all (status 0). */
export class ApiError extends Error {
  readonly status: number;
  readonly errors: readonly FieldError[];

  constructor(status: number, detail: string, errors: readonly FieldError[] = []) {
    super(detail);
    this.status = status;
    this.errors = errors;
  }
}

/** Whether the server asks for its token. */
export const needsToken = signal(false);
/** Since when the server has answered nothing, though it was asked. */
export const silentSince = signal<number | undefined>(undefined);

/** An answer that takes longer is missed. */
const SILENT_MS = 5_000;
let answers = 0;

interface Options {
  readonly query?: Query;
  /** A text is JSON already. */
  readonly body?: object | string | undefined;
  /** The version of the settings that the call changes. */
  readonly ifMatch?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What came back: the JSON, and the ETag of settings. */
export interface Answer<T> {
  readonly data: T;
  readonly etag: string | undefined;
}

/**
 * Calls the control API.
 *
 * @throws ApiError with the sentence of the server, or with status 0 if it does not answer.
 */
export async function call<T>(method: string, path: string, options: Options = {}): Promise<Answer<T>> {
  const { query = {}, body, ifMatch, signal: abort } = options;
  const [askedAt, before] = [Date.now(), answers];
  const timer = setTimeout(() => {
    // Counted, not timed: the clock of this machine can be set back.
    if (answers === before) silentSince.value ??= askedAt;
  }, SILENT_MS);
  const response = await fetch(withQuery(`/api${path}`, query), {
    method,
    headers: {
      ...(body !== undefined && { "content-type": "application/json" }),
      ...(ifMatch !== undefined && { "if-match": ifMatch }),
    },
    body: (typeof body === "object" ? JSON.stringify(body) : body) ?? null,
    signal: abort ?? null,
  })
    .catch(() => {
      throw new ApiError(0, "The server does not answer. Check that `countersign serve` is running.");
    })
    .finally(() => clearTimeout(timer));
  answers += 1;
  silentSince.value = undefined;
  const text = await response.text();
  // Another tab can have given it since.
  needsToken.value = response.status === 401;
  if (!response.ok) throw problemOf(response.status, text);
  const data = (text ? JSON.parse(text) : undefined) as T;
  return { data, etag: response.headers.get("etag") ?? undefined };
}

/** The same for reading, without the headers. */
export async function get<T>(path: string, query: Query = {}, abort?: AbortSignal): Promise<T> {
  return (await call<T>("GET", path, { query, signal: abort })).data;
}

/** The same for a change, without the headers. */
export async function post<T>(path: string, body: object | string = {}, query: Query = {}): Promise<T> {
  return (await call<T>("POST", path, { body, query })).data;
}

/** The same for a removal, or to stop what runs. */
export async function remove<T>(path: string): Promise<T> {
  return (await call<T>("DELETE", path)).data;
}

/** How many deliveries match, and which events that includes. */
export const count = (query?: Query): Promise<Count> => get<Count>("/deliveries/count", query);

/** How many deliveries match. */
export async function countDeliveries(query?: Query): Promise<number> {
  return (await count(query)).count;
}

/** What to show of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function problemOf(status: number, text: string): ApiError {
  let problem: { readonly detail?: string; readonly errors?: readonly FieldError[] } = {};
  try {
    problem = JSON.parse(text) as typeof problem;
  } catch {
    // Something between the page and the server has answered.
  }
  return new ApiError(status, problem.detail ?? `The server answered ${status}.`, problem.errors);
}
