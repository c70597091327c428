import type { EndpointSettings } from "@countersign/sender";

/** Replaces a write key, or the value of a static header, wherever settings are shown. */
export const HIDDEN = "(hidden)";

/** The endpoint as it is shown: static headers are often credentials, such as `Authorization`. */
export function withHiddenHeaders<T extends EndpointSettings>(endpoint: T): T {
  if (endpoint.headers === undefined) return endpoint;
  const headers = Object.fromEntries(Object.keys(endpoint.headers).map((name) => [name, HIDDEN]));
  return { ...endpoint, headers };
}

/**
 * Puts the values back that were hidden when a caller read an endpoint, so that what was read can be changed and sent back.
 *
 * @param before The endpoints as they are; it is found by its URL.
 * @param unknown Called with the name of a hidden header whose value is not known.
 */
export function withKnownHeaders(
  endpoint: EndpointSettings,
  before: readonly EndpointSettings[],
  unknown: (header: string) => never,
): EndpointSettings {
  if (endpoint.headers === undefined) return endpoint;
  const values = valuesByName(before.find(({ url }) => url === endpoint.url));
  const headers = Object.entries(endpoint.headers).map(([name, value]) => [
    name,
    value === HIDDEN ? (values.get(name.toLowerCase()) ?? unknown(name)) : value,
  ]);
  return { ...endpoint, headers: Object.fromEntries(headers) };
}

/** The values of static headers. Upper and lower case of a name are the same. */
function valuesByName({ headers = {} }: Partial<EndpointSettings> = {}): ReadonlyMap<string, string> {
  return new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
