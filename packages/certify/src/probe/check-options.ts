import { setMaxListeners } from "node:events";
import { X509Certificate } from "node:crypto";
import { validateHeaderName, validateHeaderValue } from "node:http";
import { isIP } from "node:net";
import { createSecureContext, rootCertificates, type SecureContext } from "node:tls";
import {
  checkFunction,
  checkOptionNames,
  checkPort,
  describeValue,
  isObject,
  nameKind,
  quote,
  HEADERS_SYNONYMS,
  LONGEST_TIMER_MS,
  SECRET_SYNONYMS,
  URL_SYNONYMS,
  type OptionNames,
} from "@countersign/protocol";
import { hostOf, type Endpoint } from "../wire/exchange.ts";
import { LANGUAGES } from "./language.ts";
import type { ProbeOptions } from "./probe.ts";

/** Set by the audits, or by HTTP itself: a static header with such a name would change what an audit sends. */
const OWN_HEADERS = new Set([
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "expect",
  "host",
  "transfer-encoding",
  "x-signature",
]);

export const PROBE_OPTIONS: OptionNames<ProbeOptions> = {
  url: URL_SYNONYMS,
  secret: SECRET_SYNONYMS,
  headers: HEADERS_SYNONYMS,
  ca: true,
  signal: true,
  timeoutMs: ["timeout requesttimeout", "in milliseconds"],
  checkAddress: true,
  language: ["for framework lang"],
};

/** Rejects an unknown option. @throws TypeError naming it, and the one that was probably meant. */
export function checkNames(what: string, options: unknown, names: Readonly<Record<string, unknown>>): void {
  checkOptionNames(what, options, names);
}

/**
 * The receiver's address, once every option has been checked.
 *
 * @param what - What was given the options, for the error.
 * @throws TypeError naming the option.
 */
export function checkOptions(what: string, options: ProbeOptions): Endpoint {
  checkNames(what, options, PROBE_OPTIONS);
  const { url, secret, headers = {}, ca, signal, timeoutMs = 1, checkAddress, language } = options;
  if (typeof secret !== "string" || secret.trim() === "") {
    throw new TypeError(
      `The secret must be the receiver's secret, a non-empty string, not ${typeof secret === "string" ? quote(secret) : nameKind(secret)}.`,
    );
  }
  checkMilliseconds("timeoutMs", timeoutMs);
  if (signal !== undefined)
    checkPort(`${what.slice(0, -1)}{ signal })`, signal, ["throwIfAborted", "addEventListener"]);
  checkFunction(`${what.slice(0, -1)}{ checkAddress })`, checkAddress);
  if (language !== undefined && !LANGUAGES.includes(language)) {
    throw new TypeError(
      `Unknown language ${describeValue(language)}. Known languages: ${LANGUAGES.join(", ")}.`,
    );
  }
  if (!isObject(headers)) {
    throw new TypeError(`headers must be an object of names and values, not ${nameKind(headers)}.`);
  }
  for (const [name, value] of Object.entries(headers)) checkHeader(name, value);
  return {
    url: checkUrl(String(url), checkAddress),
    secureContext: ca === undefined ? undefined : trust(ca),
    signal: signal && listenedByMany(signal),
    checkAddress,
  };
}

/** Each request listens to the signal while it runs. More than ten at once would make Node print a warning. */
function listenedByMany(signal: AbortSignal): AbortSignal {
  const following = AbortSignal.any([signal]);
  setMaxListeners(0, following);
  return following;
}

/** @throws TypeError naming the option. */
export function checkMilliseconds(name: string, value: unknown): void {
  if (typeof value === "number" && value > 0 && value <= LONGEST_TIMER_MS) return;
  throw new TypeError(`${name} must be a positive number of milliseconds, but got ${describeValue(value)}.`);
}

/** A private authority in addition to the public ones, as with `NODE_EXTRA_CA_CERTS`. Costly: made once. */
function trust(ca: unknown): SecureContext {
  try {
    // createSecureContext() ignores what is not a certificate.
    void new X509Certificate(ca as string);
  } catch (cause) {
    throw new TypeError("ca must hold certificates in PEM.", { cause });
  }
  return createSecureContext({ ca: [...rootCertificates, ca as string] });
}

function checkUrl(text: string, checkAddress: ProbeOptions["checkAddress"]): URL {
  if (!URL.canParse(text)) throw new TypeError(`The url is not an absolute URL: ${JSON.stringify(text)}.`);
  const url = new URL(text);
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new TypeError(`The url must start with http:// or https://, but got ${JSON.stringify(text)}.`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new TypeError(
      "The url contains a user name or a password. Pass them as an Authorization header in headers.",
    );
  }
  // An address is connected to without being looked up.
  const host = hostOf(url);
  if (isIP(host) !== 0) checkAddress?.(host, host);
  return url;
}

function checkHeader(name: string, value: unknown): void {
  if (OWN_HEADERS.has(name.toLowerCase())) {
    throw new TypeError(`The header ${name} is set by the audits themselves. Remove it from headers.`);
  }
  if (typeof value !== "string") {
    throw new TypeError(`The header ${name} must be a string, not ${nameKind(value)}.`);
  }
  validateHeaderName(name);
  validateHeaderValue(name, value);
}
