import type { Destination, Source } from "../../shapes/settings.ts";

/** A header as it is typed. */
export type HeaderDraft = readonly [name: string, value: string];

/** An endpoint as it is typed. */
export interface EndpointDraft {
  readonly url: string;
  readonly headers: readonly HeaderDraft[];
  readonly ca: string;
}

/** A destination with its source, as they are typed. */
export interface Draft {
  readonly source: string;
  readonly isNewSource: boolean;
  readonly writeKey: string;
  readonly name: string;
  readonly isNew: boolean;
  readonly endpoints: readonly EndpointDraft[];
  /** What happens to the secret. */
  readonly secret: "keep" | "set" | "none";
  readonly newSecret: string;
  readonly enabled: boolean;
  /** What the form does not show, and keeps. */
  readonly rest: object;
}

export const EMPTY_ENDPOINT: EndpointDraft = { url: "", headers: [], ca: "" };

/** What the form begins with: a destination that there is, or a new one. */
export function draftOf(source: Source | undefined, destination: Destination | undefined): Draft {
  const { includeFields, concurrency } = destination ?? {};
  return {
    source: source?.name ?? "",
    isNewSource: source === undefined,
    writeKey: "",
    name: destination?.name ?? (source?.destinations.length ? "" : "webhooks"),
    isNew: destination === undefined,
    endpoints: destination?.endpoints.map(({ url, headers = {}, ca = [] }) => ({
      url,
      headers: Object.entries(headers),
      ca: [ca].flat().join("\n"),
    })) ?? [EMPTY_ENDPOINT],
    secret: destination === undefined ? "set" : destination.signed ? "keep" : "none",
    newSecret: "",
    enabled: destination?.enabled ?? true,
    rest: { includeFields, concurrency },
  };
}

/** The body of the request that saves a destination. What is undefined in it is left out, as JSON is written. */
export function bodyOf({ endpoints, secret, newSecret, enabled, rest }: Draft): object {
  return {
    ...rest,
    endpoints: endpoints.map(({ url, headers, ca }) => ({
      url: url.trim(),
      headers:
        headers.length === 0
          ? undefined
          : Object.fromEntries(headers.map(([name, value]) => [name.trim(), value])),
      ca: ca.trim() === "" ? undefined : ca,
    })),
    secret: secret === "none" ? null : (secret === "set" && newSecret) || undefined,
    enabled,
  };
}
