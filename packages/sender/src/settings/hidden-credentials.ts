import type { Attempt } from "../delivery/attempt.ts";
import type { EndpointSettings } from "./settings.ts";

/** Replaces a credential wherever an attempt is kept or shown. */
const HIDDEN = "(hidden)";

/** The parts of a header that are hidden in a response. Hiding shorter ones would hide the response. */
const CREDENTIAL_LENGTH = 8;

/** The start of a credential at the end of a cut response is hidden from this length on: a shorter one is in any word. */
const SHORTEST_START = 4;

/** A shorter text was not cut: 16 KiB are at least this many characters. */
const SHORTEST_CUT = 4_096;

/** The credentials that attempts of a destination must not show. */
export interface Credentials {
  /** Its secret, and the values of its static headers, with and without their scheme. */
  readonly texts: readonly string[];
  /** Names of the static headers of each endpoint, in lower case, by URL. */
  readonly headers: ReadonlyMap<string, ReadonlySet<string>>;
}

/** The credentials of a destination as its settings are now. */
export function credentialsOf({
  secret = "",
  endpoints,
}: {
  readonly secret?: string | undefined;
  readonly endpoints: readonly EndpointSettings[];
}): Credentials {
  const values = endpoints.flatMap(({ headers = {} }) => Object.values(headers));
  const all = [secret, ...values];
  const parts = [
    // First without its scheme, such as Bearer; whole where the rest is short; then its words.
    ...longestFirst([secret, ...values.map((value) => value.slice(value.indexOf(" ") + 1))]),
    ...longestFirst(all),
    ...longestFirst(all.flatMap((value) => value.split(" "))),
  ];
  return {
    texts: [...new Set(parts)].filter((part) => part.length >= CREDENTIAL_LENGTH),
    headers: new Map(
      endpoints.map(({ url, headers = {} }) => [
        url,
        new Set(Object.keys(headers).map((name) => name.toLowerCase())),
      ]),
    ),
  };
}

/** A credential is hidden before another one that is its beginning: else its rest would be shown. */
function longestFirst(texts: readonly string[]): readonly string[] {
  return texts.toSorted((a, b) => b.length - a.length);
}

/**
 * The attempt as it may be kept: the values of static headers are hidden in what was sent, and every credential in what came
 * back, since an endpoint may answer with what it was sent.
 */
export function withoutCredentials(attempt: Attempt, credentials: Credentials): Attempt {
  const { message, response, requestHeaders, responseHeaders } = attempt;
  const { texts } = credentials;
  const sent = sentCredentials(attempt, credentials);
  if (sent.length === 0 && !mayShow(attempt, texts)) return attempt;
  // Also a list, as a transport of an app may give headers.
  const hide = (text: unknown): string =>
    texts.reduce((shown, credential) => shown.replaceAll(credential, HIDDEN), String(text));
  return {
    ...attempt,
    message: message && hide(message),
    response: response && withoutStart(hide(response), texts),
    requestHeaders: requestHeaders && {
      ...requestHeaders,
      ...Object.fromEntries(sent.map((name) => [name, HIDDEN])),
    },
    responseHeaders:
      responseHeaders &&
      Object.fromEntries(Object.entries(responseHeaders).map(([name, value]) => [name, hide(value)])),
  };
}

/** Names of the headers that were sent and whose values are hidden. */
function sentCredentials(
  { endpoint, requestHeaders = {} }: Attempt,
  { headers }: Credentials,
): readonly string[] {
  const hidden = headers.get(endpoint);
  if (hidden === undefined || hidden.size === 0) return [];
  return Object.keys(requestHeaders).filter((name) => hidden.has(name.toLowerCase()));
}

/** Whether a credential, or the start of one, may be in what came back: of almost all attempts it is not. */
function mayShow(
  { message = "", response, responseHeaders = {} }: Attempt,
  credentials: readonly string[],
): boolean {
  if (response.length >= SHORTEST_CUT) return credentials.length > 0;
  for (const credential of credentials) {
    if (message.includes(credential) || response.includes(credential)) return true;
    for (const name of Object.keys(responseHeaders)) {
      if (responseHeaders[name]?.includes(credential)) return true;
    }
  }
  return false;
}

/** A long response is kept up to a limit, which may have cut a credential in two. */
function withoutStart(text: string, credentials: readonly string[]): string {
  if (text.length < SHORTEST_CUT) return text;
  for (const credential of credentials) {
    for (let length = credential.length - 1; length >= SHORTEST_START; length -= 1) {
      if (text.endsWith(credential.slice(0, length))) return text.slice(0, -length) + HIDDEN;
    }
  }
  return text;
}
