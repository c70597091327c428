import { messageOf } from "@countersign/protocol";
import { assertCertificateAuthority } from "../transport/certificate-authority.ts";
import { headerProblem } from "./header-rules.ts";
import { ENDPOINT_HINTS, ENDPOINT_NAMES, type EndpointSettings } from "./settings.ts";
import { SettingPlace, type Unchecked } from "./setting-place.ts";
import type { SettingsIssue } from "./settings-error.ts";

/**
 * What is wrong with the headers and the `ca` of an endpoint; an empty list when nothing is. For tools that read them from
 * a command line or a form, and send without a sender.
 *
 * @example
 * ```ts
 * const [issue] = endpointIssues({ headers: { "X-Signature": "forged" } });
 * console.log(issue?.problem); // is set by the sender itself and cannot be given.
 * ```
 */
export function endpointIssues({
  headers,
  ca,
}: Pick<EndpointSettings, "headers" | "ca">): readonly SettingsIssue[] {
  const issues: SettingsIssue[] = [];
  const place = new SettingPlace(issues);
  headersOf(place.field("headers"), headers);
  authoritiesOf(place.field("ca"), ca);
  return issues;
}

/**
 * Checks the settings of an endpoint.
 *
 * @param urls What the destination's endpoints so far call; the URL is added.
 */
export function parseEndpoint(
  place: SettingPlace,
  item: Unchecked<EndpointSettings>,
  urls: Set<string>,
): EndpointSettings {
  place.names(item, ENDPOINT_NAMES, ENDPOINT_HINTS);
  const problem = urlProblem(item?.url);
  const url = typeof item?.url === "string" ? item.url : "";
  if (problem !== undefined) place.field("url").issue(problem);
  else if (urls.has(calledUrl(url))) place.field("url").issue("is listed twice; list each URL once.");
  else urls.add(calledUrl(url));
  const headers = headersOf(place.field("headers"), item?.headers);
  const ca = authoritiesOf(place.field("ca"), item?.ca);
  return { url, headers, ca };
}

function headersOf(place: SettingPlace, value: unknown): Readonly<Record<string, string>> {
  if (value === undefined || value === null) return {};
  if (typeof value !== "object" || Array.isArray(value)) {
    place.issue("must be an object of header names and values.");
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
    if (problem !== undefined) place.item(shown).issue(problem);
    names.add(name.toLowerCase());
    return [name, typeof content === "string" ? content : ""];
  });
  return Object.fromEntries(entries);
}

function authoritiesOf(place: SettingPlace, value: unknown): string | readonly string[] | undefined {
  if (value === undefined || value === null) return undefined;
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  const certificates = list.filter((item) => typeof item === "string");
  if (certificates.length !== list.length) {
    place.issue("must be certificates in PEM: one text, or a list of texts.");
    return undefined;
  }
  try {
    assertCertificateAuthority(certificates);
  } catch (error) {
    const reason = messageOf(error);
    place.issue(`cannot be used: ${reason}.`);
  }
  return certificates;
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
