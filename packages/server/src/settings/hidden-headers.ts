import type { EndpointSettings } from "@countersign/sender";

/** Replaces a write key, or the value of a static header, wherever settings are shown. */
export const HIDDEN = "(hidden)";

/** The endpoint as it is shown: static headers are often credentials, such as `Authorization`. */
export function withHiddenHeaders<T extends EndpointSettings>(endpoint: T): T {
  if (endpoint.headers === undefined) return endpoint;
  const headers = Object.fromEntries(Object.keys(endpoint.headers).map((name) => [name, HIDDEN]));
  return { ...endpoint, headers };
}

/** Endpoints whose hidden values are known again, or the first header whose value is not. */
export type KnownHeaders =
  | { readonly known: readonly EndpointSettings[] }
  | { readonly unknown: { readonly index: number; readonly header: string } };

/**
 * Puts the values back that were hidden when a caller read the endpoints, so that what was read can be changed and sent back.
 *
 * @param before The endpoints as they are; one is found by its URL.
 */
export function withKnownHeaders(
  endpoints: readonly EndpointSettings[],
  before: readonly EndpointSettings[],
): KnownHeaders {
  const known: EndpointSettings[] = [];
  for (const [index, endpoint] of endpoints.entries()) {
    const values = valuesByName(before.find(({ url }) => url === endpoint.url));
    const headers = Object.entries(endpoint.headers ?? {});
    const unknown = headers.find(([name, value]) => value === HIDDEN && !values.has(name.toLowerCase()));
    if (unknown) return { unknown: { index, header: unknown[0] } };
    const full = headers.map(([name, value]) => [
      name,
      value === HIDDEN ? values.get(name.toLowerCase()) : value,
    ]);
    known.push(
      endpoint.headers === undefined ? endpoint : { ...endpoint, headers: Object.fromEntries(full) },
    );
  }
  return { known };
}

/** The values of static headers. Upper and lower case of a name are the same. */
function valuesByName({ headers = {} }: Partial<EndpointSettings> = {}): ReadonlyMap<string, string> {
  return new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
