import { INCLUDABLE_FIELDS, type IncludableField } from "../calls/message.ts";
import { defaultDestinationName } from "./destination-name.ts";
import { type Credentials, credentialsOf } from "./hidden-credentials.ts";
import { parseEndpoint } from "./parse-endpoint.ts";
import { SettingChecks, type Unchecked } from "./setting-checks.ts";
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
import { SettingsError } from "./settings-error.ts";

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
interface Audience {
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
  readonly audiences: readonly Audience[];
  readonly blockedEvents: ReadonlySet<string>;
  readonly countFiltered: boolean;
}

/**
 * Checks settings and fills in their defaults. What is returned shares nothing with what was given.
 *
 * @throws SettingsError naming everything that is wrong
 */
export function parseSettings(settings: SenderSettings): readonly Source[] {
  const parser = new SettingsParser();
  const sources = parser.sources(settings);
  const { issues } = parser.checks;
  if (issues.length > 0) throw new SettingsError(issues);
  return sources;
}

function isIncludable(value: unknown): value is readonly IncludableField[] {
  return Array.isArray(value) && value.every((name) => INCLUDABLE_FIELDS.some((known) => known === name));
}

function audiencesOf(destinations: readonly Destination[]): readonly Audience[] {
  const audiences = new Map<string, { includeFields: readonly IncludableField[]; destinations: string[] }>();
  for (const { key, includeFields } of destinations) {
    const audience = audiences.get(includeFields.join());
    if (audience === undefined) audiences.set(includeFields.join(), { includeFields, destinations: [key] });
    else audience.destinations.push(key);
  }
  return [...audiences.values()];
}

class SettingsParser {
  readonly checks: SettingChecks = new SettingChecks();
  readonly #writeKeys = new Set<string>();

  sources(settings: Unchecked<SenderSettings>): Source[] {
    this.checks.names(settings, SETTINGS_NAMES, "", "");
    const list = this.checks.list(settings?.sources, "sources", "", "must list at least one source.");
    const names = new Set<string>();
    return list.map((item, index) => {
      const path = `sources[${index}]`;
      const name = this.checks.name(item?.name, `${path}.name`, `source ${index + 1}`, names, undefined);
      return this.#source(item, path, name);
    });
  }

  #source(item: Unchecked<SourceSettings>, path: string, name: string): Source {
    const where = `source "${name}"`;
    this.checks.names(item, SOURCE_NAMES, path, where, SOURCE_HINTS);
    const writeKey = item?.writeKey ?? name;
    if (typeof writeKey !== "string" || writeKey === "") {
      this.checks.issue(`${path}.writeKey`, where, "must be a non-empty string.");
    } else if (this.#writeKeys.has(writeKey)) {
      this.checks.issue(`${path}.writeKey`, where, "is also the write key of another source.");
    } else {
      this.#writeKeys.add(writeKey);
    }
    const blocked = item?.blockedEvents ?? [];
    if (!Array.isArray(blocked) || blocked.some((event) => typeof event !== "string")) {
      this.checks.issue(`${path}.blockedEvents`, where, "must be a list of event names.");
    }
    const list = this.checks.array(item?.destinations, `${path}.destinations`, where, "must be a list.");
    const names = new Set<string>();
    const destinations = list.map((destination, index) =>
      this.#destination(destination, `${path}.destinations[${index}]`, name, index, names),
    );
    return {
      name,
      writeKey: typeof writeKey === "string" ? writeKey : "",
      destinations,
      enabled: destinations.filter(({ enabled }) => enabled).map(({ key }) => key),
      audiences: audiencesOf(destinations.filter(({ enabled }) => enabled)),
      blockedEvents: new Set(Array.isArray(blocked) ? blocked.map(String) : []),
      countFiltered: this.checks.flag(item?.countFiltered, `${path}.countFiltered`, where, false),
    };
  }

  #destination(
    item: Unchecked<DestinationSettings>,
    path: string,
    source: string,
    index: number,
    names: Set<string>,
  ): Destination {
    const here = `source "${source}"`;
    const name = this.checks.name(
      item?.name,
      `${path}.name`,
      `${here}, destination ${index + 1}`,
      names,
      defaultDestinationName(index),
    );
    const where = `${here}, destination "${name}"`;
    this.checks.names(item, DESTINATION_NAMES, path, where, DESTINATION_HINTS);
    const concurrency = item?.concurrency ?? DEFAULT_CONCURRENCY;
    if (!Number.isInteger(concurrency) || Number(concurrency) < 1) {
      this.checks.issue(`${path}.concurrency`, where, "must be a whole number, at least 1.");
    }
    const endpoints = this.#endpoints(item?.endpoints, `${path}.endpoints`, where);
    const secret = this.#secret(item, `${path}.secret`, where);
    return {
      key: `${source}/${name}`,
      source,
      endpoints,
      secret,
      credentials: credentialsOf({ endpoints, secret }),
      enabled: this.checks.flag(item?.enabled, `${path}.enabled`, where, true),
      includeFields: this.#includeFields(item?.includeFields, `${path}.includeFields`, where),
      concurrency: Number(concurrency),
    };
  }

  #secret(item: Unchecked<DestinationSettings>, path: string, where: string): string | undefined {
    const value: unknown = item?.secret;
    if (value === null) return undefined;
    if (value === undefined) {
      // Mostly a variable of the environment that is not set. Unsigned messages would be rejected for good.
      if (item && Object.hasOwn(item, "secret")) {
        const advice = "set the variable that it comes from, or leave it out to send unsigned messages.";
        this.checks.issue(path, where, `is undefined: ${advice}`);
      }
      return undefined;
    }
    if (typeof value !== "string" || value === "") {
      this.checks.issue(path, where, "must be a non-empty string; leave it out to send unsigned messages.");
    } else if (value.trim() === "") {
      this.checks.issue(path, where, "must not consist of white space, which anyone could guess.");
    }
    return typeof value === "string" ? value : undefined;
  }

  #includeFields(value: unknown, path: string, where: string): readonly IncludableField[] {
    const names = value ?? [];
    if (isIncludable(names)) return INCLUDABLE_FIELDS.filter((field) => names.includes(field));
    this.checks.issue(path, where, `must be a list of these: ${INCLUDABLE_FIELDS.join(", ")}.`);
    return [];
  }

  #endpoints(value: unknown, path: string, where: string): EndpointSettings[] {
    const list = this.checks.list(value, path, where, "must list at least one endpoint.");
    if (list.length > MAX_ENDPOINTS) {
      this.checks.issue(
        path,
        where,
        `has ${list.length} endpoints; a destination may have ${MAX_ENDPOINTS}.`,
      );
    }
    const urls = new Set<string>();
    return list.map((item, index) =>
      parseEndpoint(this.checks, item, `${path}[${index}]`, `${where}, endpoint ${index + 1}`, urls),
    );
  }
}
