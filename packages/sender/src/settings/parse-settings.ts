import { GUESSABLE, isGuessable } from "@countersign/protocol/options";
import { INCLUDABLE_FIELDS, type IncludableField } from "../calls/message.ts";
import { defaultDestinationName } from "./destination-name.ts";
import { type Credentials, credentialsOf } from "./hidden-credentials.ts";
import { parseEndpoint } from "./parse-endpoint.ts";
import { SettingPlace, type Unchecked } from "./setting-place.ts";
import {
  DESTINATION_HINTS,
  DESTINATION_NAMES,
  SETTINGS_NAMES,
  SOURCE_HINTS,
  SOURCE_NAMES,
  type DestinationSettings,
  type EndpointSettings,
  type SenderSettings,
  type SourceSettings,
} from "./settings.ts";
import { SettingsError, type SettingsIssue } from "./settings-error.ts";

/** Most endpoints of a destination (spec 8). */
const MAX_ENDPOINTS = 5;

/** How many deliveries of a destination may be in progress at once, by default. */
const DEFAULT_CONCURRENCY = 20;

/** A destination with every default filled in. */
export interface Destination {
  /** `<source>/<destination>`: what its deliveries are stored under. */
  readonly key: string;
  readonly source: string;
  readonly endpoints: readonly EndpointSettings[];
  readonly secret: string | undefined;
  readonly enabled: boolean;
  /** In the order of {@link INCLUDABLE_FIELDS}. */
  readonly includeFields: readonly IncludableField[];
  readonly concurrency: number;
  /** The credentials that its attempts must not show. */
  readonly credentials: Credentials;
}

/** Enabled destinations that get the same bytes. */
interface Recipients {
  readonly includeFields: readonly IncludableField[];
  /** Their keys. */
  readonly destinations: readonly string[];
}

/** A source with every default filled in. */
export interface Source {
  readonly name: string;
  readonly writeKey: string;
  readonly destinations: readonly Destination[];
  /** Keys of its destinations that are enabled. */
  readonly enabled: readonly string[];
  /** The same keys, by what their messages include. */
  readonly recipients: readonly Recipients[];
  readonly blockedEvents: ReadonlySet<string>;
  readonly countFiltered: boolean;
}

/**
 * Checks settings and fills in their defaults. What is returned shares nothing with what was given.
 *
 * @param store Where deliveries are to be kept: it may not take every source.
 * @throws SettingsError naming everything that is wrong
 */
export function parseSettings(
  settings: SenderSettings,
  store?: { refuses?(source: string): string | undefined },
): readonly Source[] {
  const issues: SettingsIssue[] = [];
  const place = new SettingPlace(issues);
  const sources = sourcesOf(place, settings);
  for (const [index, { name }] of sources.entries()) {
    const problem = store?.refuses?.(name);
    if (problem === undefined) continue;
    place.field("sources").item(index).called(`source "${name}"`).field("name").issue(problem);
  }
  if (issues.length > 0) throw new SettingsError(issues);
  return sources;
}

/** What sources were parsed to that are kept, and so can no longer change. */
const parsedSources = new WeakMap<object, Source>();

/** Whether a source is one of those that are kept, and not a copy. */
export function isKept(source: SourceSettings): boolean {
  return parsedSources.has(source);
}

/** Remembers what a source was parsed to. Nothing in it may change from now on. */
export function keepParsed(source: SourceSettings, parsed: Source): void {
  parsedSources.set(source, parsed);
}

function isIncludable(value: unknown): value is readonly IncludableField[] {
  return Array.isArray(value) && value.every((name) => INCLUDABLE_FIELDS.some((known) => known === name));
}

function recipientsOf(destinations: readonly Destination[]): readonly Recipients[] {
  const byFields = new Map<string, { includeFields: readonly IncludableField[]; destinations: string[] }>();
  for (const { key, includeFields } of destinations) {
    const same = byFields.get(includeFields.join());
    if (same === undefined) byFields.set(includeFields.join(), { includeFields, destinations: [key] });
    else same.destinations.push(key);
  }
  return [...byFields.values()];
}

function sourcesOf(place: SettingPlace, settings: Unchecked<SenderSettings>): Source[] {
  place.names(settings, SETTINGS_NAMES);
  const all = place.field("sources");
  const list = all.list(settings?.sources, "must list at least one source.");
  const names = new Set<string>();
  const writeKeys = new Set<string>();
  return list.map((item, index) => {
    const parsed = item ? parsedSources.get(item) : undefined;
    // What it has in common with another source is told like anything else.
    if (parsed !== undefined && !names.has(parsed.name) && !writeKeys.has(parsed.writeKey)) {
      names.add(parsed.name);
      writeKeys.add(parsed.writeKey);
      return parsed;
    }
    const here = all.item(index);
    const name = here
      .called(`source ${index + 1}`)
      .field("name")
      .name(item?.name, names);
    return sourceOf(here.called(`source "${name}"`), item, name, writeKeys);
  });
}

/** @param writeKeys Those of the sources so far; its own is added. */
function sourceOf(
  place: SettingPlace,
  item: Unchecked<SourceSettings>,
  name: string,
  writeKeys: Set<string>,
): Source {
  place.names(item, SOURCE_NAMES, SOURCE_HINTS);
  const writeKey = item?.writeKey ?? name;
  // The name is no secret.
  const isSet = place.isSet(item, "writeKey", "use the name");
  if (typeof writeKey !== "string" || writeKey === "") {
    place.field("writeKey").issue("must be a non-empty string.");
  } else if (writeKeys.has(writeKey)) {
    place.field("writeKey").issue("is also the write key of another source.");
  } else if (isSet) {
    writeKeys.add(writeKey);
  }
  const blocked = item?.blockedEvents ?? [];
  if (!Array.isArray(blocked) || blocked.some((event) => typeof event !== "string")) {
    place.field("blockedEvents").issue("must be a list of event names.");
  }
  const all = place.field("destinations");
  const names = new Set<string>();
  const destinations = all
    .array(item?.destinations, "must be a list.")
    .map((destination, index) => destinationOf(all.item(index), destination, name, index, names));
  const enabled = destinations.filter((destination) => destination.enabled);
  return {
    name,
    writeKey: typeof writeKey === "string" ? writeKey : "",
    destinations,
    enabled: enabled.map(({ key }) => key),
    recipients: recipientsOf(enabled),
    blockedEvents: new Set(Array.isArray(blocked) ? blocked.map(String) : []),
    countFiltered: place.field("countFiltered").flag(item?.countFiltered, false),
  };
}

function destinationOf(
  here: SettingPlace,
  item: Unchecked<DestinationSettings>,
  source: string,
  index: number,
  names: Set<string>,
): Destination {
  const name = here
    .called(`destination ${index + 1}`)
    .field("name")
    .name(item?.name, names, defaultDestinationName(index));
  const place = here.called(`destination "${name}"`);
  place.names(item, DESTINATION_NAMES, DESTINATION_HINTS);
  const concurrency = item?.concurrency ?? DEFAULT_CONCURRENCY;
  if (!Number.isInteger(concurrency) || Number(concurrency) < 1) {
    place.field("concurrency").issue("must be a whole number, at least 1.");
  }
  const endpoints = endpointsOf(place.field("endpoints"), item?.endpoints);
  const secret = secretAt(place, item);
  return {
    key: `${source}/${name}`,
    source,
    endpoints,
    secret,
    credentials: credentialsOf({ endpoints, secret }),
    enabled: place.field("enabled").flag(item?.enabled, true),
    includeFields: includeFieldsOf(place.field("includeFields"), item?.includeFields),
    concurrency: Number(concurrency),
  };
}

function secretAt(place: SettingPlace, item: Unchecked<DestinationSettings>): string | undefined {
  // Unsigned messages would be rejected for good.
  place.isSet(item, "secret", "send unsigned messages");
  const value: unknown = item?.secret;
  if (value === undefined || value === null) return undefined;
  const here = place.field("secret");
  if (typeof value !== "string" || value === "") {
    here.issue("must be a non-empty string; leave it out to send unsigned messages.");
  } else if (isGuessable(value)) {
    here.issue(GUESSABLE);
  }
  return typeof value === "string" ? value : undefined;
}

function includeFieldsOf(place: SettingPlace, value: unknown): readonly IncludableField[] {
  const names = value ?? [];
  if (isIncludable(names)) return INCLUDABLE_FIELDS.filter((field) => names.includes(field));
  place.issue(`must be a list of these: ${INCLUDABLE_FIELDS.join(", ")}.`);
  return [];
}

function endpointsOf(place: SettingPlace, value: unknown): EndpointSettings[] {
  const list = place.list(value, "must list at least one endpoint.");
  if (list.length > MAX_ENDPOINTS)
    place.issue(`has ${list.length} endpoints; a destination may have ${MAX_ENDPOINTS}.`);
  const urls = new Set<string>();
  return list.map((item, index) =>
    parseEndpoint(place.item(index).called(`endpoint ${index + 1}`), item, urls),
  );
}
