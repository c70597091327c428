/**
 * The rules of a sender's settings (spec 2.1) and of the sender's README, written a second time as one predicate each: what
 * `configure()` accepts, and nothing else.
 */

type Rule = (value: unknown) => boolean;

const RESERVED =
  "user-agent content-type x-signature host content-length content-encoding transfer-encoding connection keep-alive proxy-connection te trailer upgrade expect".split(
    " ",
  );

/** Whether settings are valid as a whole. */
export function isValid(settings: unknown): boolean {
  if (!hasOnly(settings, ["sources"]) || !isList(settings["sources"], 1, Infinity)) return false;
  const sources: readonly unknown[] = settings["sources"];
  if (!sources.every(isSource)) return false;
  return (
    areDistinct(sources.map(({ name }) => name)) &&
    areDistinct(sources.map((one) => one["writeKey"] ?? one["name"]))
  );
}

function isSource(source: unknown): source is Record<string, unknown> {
  if (!hasOnly(source, ["name", "writeKey", "destinations", "blockedEvents", "countFiltered"])) return false;
  const { name, writeKey, destinations, blockedEvents, countFiltered } = source;
  return (
    isName(name) &&
    isSet(source, "writeKey") &&
    optional(writeKey, (value) => typeof value === "string" && value !== "") &&
    optional(
      blockedEvents,
      (value) => isList(value, 0, Infinity) && value.every((event) => typeof event === "string"),
    ) &&
    optional(countFiltered, isFlag) &&
    isList(destinations, 0, Infinity) &&
    destinations.every(isDestination) &&
    areDistinct(
      destinations.map((one, index) => one["name"] ?? (index === 0 ? "webhooks" : `webhooks-${index + 1}`)),
    )
  );
}

function isDestination(destination: unknown): destination is Record<string, unknown> {
  if (!hasOnly(destination, ["name", "endpoints", "secret", "enabled", "concurrency"])) return false;
  const { name, endpoints, secret, enabled, concurrency } = destination;
  return (
    optional(name, isName) &&
    isSet(destination, "secret") &&
    optional(secret, (value) => typeof value === "string" && value.trim() !== "") &&
    optional(enabled, isFlag) &&
    optional(concurrency, (value) => Number.isInteger(value) && Number(value) >= 1) &&
    isList(endpoints, 1, 5) &&
    endpoints.every(isEndpoint) &&
    areDistinct(endpoints.map((endpoint) => calledUrl(String(endpoint["url"]))))
  );
}

function isEndpoint(endpoint: unknown): endpoint is Record<string, unknown> {
  if (!hasOnly(endpoint, ["url", "headers", "ca"])) return false;
  return isUrl(endpoint["url"]) && optional(endpoint["headers"], areHeaders);
}

function isUrl(value: unknown): boolean {
  if (typeof value !== "string" || !URL.canParse(value)) return false;
  const { protocol, username, password } = new URL(value);
  return (protocol === "http:" || protocol === "https:") && username === "" && password === "";
}

function areHeaders(headers: unknown): boolean {
  if (typeof headers !== "object" || headers === null || Array.isArray(headers)) return false;
  const entries: readonly (readonly [string, unknown])[] = Object.entries(headers);
  return (
    areDistinct(entries.map(([name]) => name.toLowerCase())) &&
    entries.every(
      ([name, value]) =>
        /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name) &&
        !RESERVED.includes(name.toLowerCase()) &&
        typeof value === "string" &&
        Array.from(value).every((character) => isFieldCharacter(character.codePointAt(0) ?? 0)),
    )
  );
}

function isFieldCharacter(code: number): boolean {
  return code === 9 || (code >= 0x20 && code <= 0x7e) || (code >= 0x80 && code <= 0xff);
}

function isName(value: unknown): boolean {
  return typeof value === "string" && value !== "" && !value.includes("/") && !/\p{Cc}/u.test(value);
}

const isFlag: Rule = (value) => typeof value === "boolean";

/** One that is given as undefined is a variable that is not set. */
function isSet(object: Record<string, unknown>, name: string): boolean {
  return !(name in object) || object[name] !== undefined;
}

function optional(value: unknown, rule: Rule): boolean {
  return value === undefined || value === null || rule(value);
}

function hasOnly(value: unknown, names: readonly string[]): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.keys(value).every(
    (name) => names.includes(name) || (value as Record<string, unknown>)[name] === undefined,
  );
}

function isList(value: unknown, least: number, most: number): value is readonly unknown[] {
  return Array.isArray(value) && value.length >= least && value.length <= most;
}

function areDistinct(values: readonly unknown[]): boolean {
  return new Set(values).size === values.length;
}

/** Two spellings of what is called as one URL are one URL. */
function calledUrl(text: string): string {
  const url = new URL(text);
  url.hash = "";
  return url.href;
}
