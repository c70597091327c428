import {
  HEADERS_SYNONYMS,
  SECRET_SYNONYMS,
  SOURCES_SYNONYMS,
  URL_SYNONYMS,
  WRITE_KEY_SYNONYMS,
  type OptionHints,
  type OptionNames,
} from "@countersign/protocol";
import type { IncludableField } from "../calls/message.ts";

/** A URL that messages are sent to (spec 2.1). */
export interface EndpointSettings {
  /** Full URL, `http:` or `https:`. */
  readonly url: string;
  /** Headers sent on every request to it. They cannot replace those that the sender sets itself. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Certificate authorities to trust for it instead of the system's: one or several in PEM. */
  readonly ca?: string | readonly string[] | undefined;
}

/** Webhook settings of a source: where its messages go. */
export interface DestinationSettings {
  /** Names it in events, in `deliveries()` and across restarts. Default: `webhooks`, `webhooks-2`, ... */
  readonly name?: string | undefined;
  /** One to five. A message is delivered when one of them has accepted it. */
  readonly endpoints: readonly EndpointSettings[];
  /**
   * Key of the `X-Signature` header. Left out, messages are not signed. `undefined` is refused, because
   * it usually means that an environment variable is not set.
   */
  readonly secret?: string | undefined;
  /** Whether messages are sent. If it is disabled, pending deliveries wait. Default: `true`. */
  readonly enabled?: boolean | undefined;
  /**
   * Fields that the documented message does not have, but the real service sends: for testing handlers that read
   * them. A field without a value in the call is left out. Default: none.
   */
  readonly includeFields?: readonly IncludableField[] | undefined;
  /** How many deliveries may be in progress at once. Default: 20. */
  readonly concurrency?: number | undefined;
}

/** A source of calls, known by its write key. */
export interface SourceSettings {
  /** Names it in events and across restarts. */
  readonly name: string;
  /**
   * The key with which clients of this source authenticate. Default: the name. `undefined` is refused, because it usually
   * means that an environment variable is not set.
   */
  readonly writeKey?: string | undefined;
  /** Where its messages go. */
  readonly destinations: readonly DestinationSettings[];
  /** Names of track events that are not forwarded. */
  readonly blockedEvents?: readonly string[] | undefined;
  /** Whether blocked calls still count as usage. Default: `false`. */
  readonly countFiltered?: boolean | undefined;
}

/** The sources of a sender, and their destinations. */
export interface SenderSettings {
  /** Every source, with its destinations. */
  readonly sources: readonly SourceSettings[];
}

/** The names of settings, and what to say of some that are easily taken for one. */
export const SETTINGS_NAMES: OptionNames<SenderSettings> = { sources: SOURCES_SYNONYMS };
export const SOURCE_NAMES: OptionNames<SourceSettings> = {
  name: true,
  writeKey: WRITE_KEY_SYNONYMS,
  destinations: true,
  blockedEvents: true,
  countFiltered: true,
};
export const DESTINATION_NAMES: OptionNames<DestinationSettings> = {
  name: true,
  endpoints: true,
  secret: SECRET_SYNONYMS,
  enabled: true,
  includeFields: true,
  concurrency: true,
};
export const ENDPOINT_NAMES: OptionNames<EndpointSettings> = {
  url: URL_SYNONYMS,
  headers: HEADERS_SYNONYMS,
  ca: true,
};

/** What is set one level below or above. */
const OF_DESTINATION = "a destination of the source has it";
const OF_ENDPOINT = "each of its endpoints has it";

export const SOURCE_HINTS: OptionHints = {
  secret: OF_DESTINATION,
  sharedSecret: `${OF_DESTINATION}, as secret`,
  endpoints: OF_DESTINATION,
  concurrency: OF_DESTINATION,
  url: "an endpoint of a destination has it: destinations: [{ endpoints: [{ url }] }]",
};
export const DESTINATION_HINTS: OptionHints = {
  url: "each endpoint has one: endpoints: [{ url }]",
  headers: OF_ENDPOINT,
  ca: OF_ENDPOINT,
  disabled: "it is called enabled here, false sends nothing",
};
export const ENDPOINT_HINTS: OptionHints = {
  secret: "its destination has it",
  sharedSecret: "its destination has it, as secret",
  signingSecret: "its destination has it, as secret",
  webhookSecret: "its destination has it, as secret",
};

/** The secret as it was given, also if that is `undefined`: settings refuse it then. */
export function secretOf(options: Pick<DestinationSettings, "secret">): Pick<DestinationSettings, "secret"> {
  return Object.hasOwn(options, "secret") ? { secret: options.secret } : {};
}
