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
 * Puts the values back that were hidden when a caller read the endpoints, so that what was read can be changed and sent back.
 *
 * @param before The endpoints as they are; one is found by its URL.
 * @returns The endpoints in full, or the name of a header whose value is not known.
 */
export function withKnownHeaders(
  endpoints: readonly EndpointSettings[],
  before: readonly EndpointSettings[],
): readonly EndpointSettings[] | string {
  let unknown: string | undefined;
  const full = endpoints.map((endpoint) => {
    const known = before.find(({ url }) => url === endpoint.url)?.headers ?? {};
    const headers = Object.entries(endpoint.headers ?? {}).map(([name, value]) => {
      if (value === HIDDEN && !Object.hasOwn(known, name)) unknown ??= name;
      return [name, value === HIDDEN ? known[name] : value];
    });
    return endpoint.headers === undefined ? endpoint : { ...endpoint, headers: Object.fromEntries(headers) };
  });
  return unknown ?? full;
}
