import { type OptionHints, nameHint, unknownNames } from "@countersign/protocol";
import { assertCertificateAuthority } from "../transport/certificate-authority.ts";
import { INCLUDABLE_FIELDS, type IncludableField } from "../calls/message.ts";
import { headerProblem } from "./header-rules.ts";
import {
  DESTINATION_HINTS,
  DESTINATION_NAMES,
  ENDPOINT_HINTS,
  ENDPOINT_NAMES,
  SETTINGS_NAMES,
  SOURCE_NAMES,
  type DestinationSettings,
  type EndpointSettings,
  type SenderSettings,
  type SourceSettings,
} from "./settings.ts";
import { SettingsError, type SettingsIssue } from "./settings-error.ts";

/** Most endpoints of a destination (spec 8). */
const MAX_ENDPOINTS = 5;

/** Deliveries of one destination under way at once, by default. */
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
  if (parser.issues.length > 0) throw new SettingsError(parser.issues);
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

/** Settings come from files and forms, so nothing about them is taken for granted. */
type Unchecked<T> = { readonly [K in keyof T]?: unknown } | null | undefined;

/** An item of any of the lists. */
type UncheckedItem = Unchecked<SourceSettings & DestinationSettings & EndpointSettings>;

class SettingsParser {
  readonly issues: SettingsIssue[] = [];
  readonly #writeKeys = new Set<string>();

  sources(settings: Unchecked<SenderSettings>): Source[] {
    this.#names(settings, SETTINGS_NAMES, "", "");
    const list = this.#list(settings?.sources, "sources", "", "must list at least one source.");
    const names = new Set<string>();
    return list.map((item, index) => {
      const path = `sources[${index}]`;
      const name = this.#name(item?.name, `${path}.name`, `source ${index + 1}`, names, undefined);
      return this.#source(item, path, name);
    });
  }

  #source(item: Unchecked<SourceSettings>, path: string, name: string): Source {
    const where = `source "${name}"`;
    this.#names(item, SOURCE_NAMES, path, where);
    const writeKey = item?.writeKey ?? name;
    if (typeof writeKey !== "string" || writeKey === "") {
      this.#issue(`${path}.writeKey`, where, "must be a non-empty string.");
    } else if (this.#writeKeys.has(writeKey)) {
      this.#issue(`${path}.writeKey`, where, "is also the write key of another source.");
    } else {
      this.#writeKeys.add(writeKey);
    }
    const blocked = item?.blockedEvents ?? [];
    if (!Array.isArray(blocked) || blocked.some((event) => typeof event !== "string")) {
      this.#issue(`${path}.blockedEvents`, where, "must be a list of event names.");
    }
    const list = this.#array(item?.destinations, `${path}.destinations`, where, "must be a list.");
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
      countFiltered: this.#flag(item?.countFiltered, `${path}.countFiltered`, where, false),
    };
  }

  #destination(
    item: Unchecked<DestinationSettings>,
    path: string,
    source: string,
    index: number,
    names: Set<string>,
  ): Destination {
    const fallback = index === 0 ? "webhooks" : `webhooks-${index + 1}`;
    const here = `source "${source}"`;
    const name = this.#name(item?.name, `${path}.name`, `${here}, destination ${index + 1}`, names, fallback);
    const where = `${here}, destination "${name}"`;
    this.#names(item, DESTINATION_NAMES, path, where, DESTINATION_HINTS);
    const secret = item?.secret ?? undefined;
    if (secret !== undefined && (typeof secret !== "string" || secret === "")) {
      this.#issue(
        `${path}.secret`,
        where,
        "must be a non-empty string; leave it out to send unsigned messages.",
      );
    } else if (secret?.trim() === "") {
      this.#issue(`${path}.secret`, where, "must not consist of white space, which anyone could guess.");
    }
    const concurrency = item?.concurrency ?? DEFAULT_CONCURRENCY;
    if (!Number.isInteger(concurrency) || Number(concurrency) < 1) {
      this.#issue(`${path}.concurrency`, where, "must be a whole number, at least 1.");
    }
    const includeFields = item?.includeFields ?? [];
    if (!isIncludable(includeFields)) {
      this.#issue(
        `${path}.includeFields`,
        where,
        `must be a list of these: ${INCLUDABLE_FIELDS.join(", ")}.`,
      );
    }
    return {
      key: `${source}/${name}`,
      source,
      endpoints: this.#endpoints(item?.endpoints, `${path}.endpoints`, where),
      secret: typeof secret === "string" ? secret : undefined,
      enabled: this.#flag(item?.enabled, `${path}.enabled`, where, true),
      includeFields: INCLUDABLE_FIELDS.filter(
        (field) => isIncludable(includeFields) && includeFields.includes(field),
      ),
      concurrency: Number(concurrency),
    };
  }

  #endpoints(value: unknown, path: string, where: string): EndpointSettings[] {
    const list = this.#list(value, path, where, "must list at least one endpoint.");
    if (list.length > MAX_ENDPOINTS) {
      this.#issue(path, where, `has ${list.length} endpoints; a destination may have ${MAX_ENDPOINTS}.`);
    }
    const urls = new Set<string>();
    return list.map((item, index) =>
      this.#endpoint(item, `${path}[${index}]`, `${where}, endpoint ${index + 1}`, urls),
    );
  }

  #endpoint(
    item: Unchecked<EndpointSettings>,
    path: string,
    where: string,
    urls: Set<string>,
  ): EndpointSettings {
    this.#names(item, ENDPOINT_NAMES, path, where, ENDPOINT_HINTS);
    const problem = urlProblem(item?.url);
    const url = typeof item?.url === "string" ? item.url : "";
    if (problem !== undefined) this.#issue(`${path}.url`, where, problem);
    else if (urls.has(calledUrl(url)))
      this.#issue(`${path}.url`, where, "is listed twice; list each URL once.");
    if (problem === undefined) urls.add(calledUrl(url));
    const headers = this.#headers(item?.headers, `${path}.headers`, where);
    const ca = this.#ca(item?.ca, `${path}.ca`, where);
    return { url, headers, ca };
  }

  #headers(value: unknown, path: string, where: string): Readonly<Record<string, string>> {
    if (value === undefined || value === null) return {};
    if (typeof value !== "object" || Array.isArray(value)) {
      this.#issue(path, where, "must be an object of header names and values.");
      return {};
    }
    const names = new Set<string>();
    const entries = Object.entries(value).map(([name, content]): [string, string] => {
      const twice = names.has(name.toLowerCase())
        ? "is listed twice; upper and lower case are the same."
        : undefined;
      const problem = headerProblem(name, content) ?? twice;
      // A header written as "Authorization: Bearer ..." is a name with a credential in it.
      const shown = name.replace(/:.*$/su, ":…");
      if (problem !== undefined) this.#issue(`${path}[${JSON.stringify(shown)}]`, where, problem);
      names.add(name.toLowerCase());
      return [name, typeof content === "string" ? content : ""];
    });
    return Object.fromEntries(entries);
  }

  #ca(value: unknown, path: string, where: string): string | readonly string[] | undefined {
    if (value === undefined || value === null) return undefined;
    const list: readonly unknown[] = Array.isArray(value) ? value : [value];
    const certificates = list.filter((item) => typeof item === "string");
    if (certificates.length !== list.length) {
      this.#issue(path, where, "must be certificates in PEM: one text, or a list of texts.");
      return undefined;
    }
    try {
      assertCertificateAuthority(certificates);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#issue(path, where, `cannot be used: ${reason}.`);
    }
    return certificates;
  }

  #name(
    value: unknown,
    path: string,
    where: string,
    taken: Set<string>,
    fallback: string | undefined,
  ): string {
    const name = value ?? fallback;
    if (typeof name !== "string" || !/^[^/\p{Cc}]+$/u.test(name)) {
      this.#issue(path, where, "must be a non-empty string without slashes and control characters.");
      return typeof name === "string" ? name : "";
    }
    if (taken.has(name))
      this.#issue(path, where, `is ${JSON.stringify(name)}, which another one has already.`);
    taken.add(name);
    return name;
  }

  /** A misspelt setting would be one that is not there. */
  #names(
    item: unknown,
    names: Readonly<Record<string, true>>,
    path: string,
    where: string,
    hints: OptionHints = {},
  ): void {
    for (const name of unknownNames(item, names)) {
      const problem = `is an unknown setting${nameHint(name, names, hints)}`;
      this.#issue(path === "" ? name : `${path}.${name}`, where, problem);
    }
  }

  #flag(value: unknown, path: string, where: string, fallback: boolean): boolean {
    if (value === undefined || value === null) return fallback;
    if (typeof value !== "boolean") this.#issue(path, where, "must be true or false.");
    return value === true;
  }

  #list(value: unknown, path: string, where: string, problem: string): readonly UncheckedItem[] {
    const list = this.#array(value, path, where, problem);
    if (Array.isArray(value) && list.length === 0) this.#issue(path, where, problem);
    return list;
  }

  #array(value: unknown, path: string, where: string, problem: string): readonly UncheckedItem[] {
    if (Array.isArray(value)) return value;
    this.#issue(path, where, problem);
    return [];
  }

  #issue(path: string, where: string, problem: string): void {
    this.issues.push({ path, where, problem });
  }
}

function urlProblem(value: unknown): string | undefined {
  if (typeof value !== "string" || !URL.canParse(value))
    return "must be a full URL, such as https://example.com/hooks.";
  const url = new URL(value);
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    return `must start with http:// or https://, not ${url.protocol}`;
  }
  if (url.username !== "" || url.password !== "") {
    return "must not contain a user name or password; send them in an Authorization header.";
  }
  return undefined;
}

/** What is called of a URL, however it is written: `http://A` is `http://a/`, and a fragment is not sent. */
function calledUrl(text: string): string {
  const url = new URL(text);
  url.hash = "";
  return url.href;
}
