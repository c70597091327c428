import { X509Certificate } from "node:crypto";
import { validateHeaderName, validateHeaderValue } from "node:http";
import { createSecureContext, rootCertificates, type SecureContext } from "node:tls";
import type { Endpoint } from "../wire/exchange.ts";
import type { ProbeOptions } from "./probe.ts";

/** Set by the audits, or by HTTP itself: a static header of such a name would spoil what an audit sends. */
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

/** The receiver's address, once every option has been found usable. @throws TypeError naming the option. */
export function checkOptions({
  url,
  secret,
  headers = {},
  ca,
  signal,
  timeoutMs = 1,
}: ProbeOptions): Endpoint {
  if (typeof secret !== "string" || secret === "") {
    throw new TypeError("The secret must be a non-empty string: the one the receiver has too.");
  }
  if (!(timeoutMs > 0 && timeoutMs < 2 ** 31)) {
    throw new TypeError(`timeoutMs must be a positive number of milliseconds, but got ${timeoutMs}.`);
  }
  for (const [name, value] of Object.entries(headers)) checkHeader(name, value);
  return { url: checkUrl(String(url)), secureContext: ca === undefined ? undefined : trust(ca), signal };
}

/** A private authority beside the public ones, as `NODE_EXTRA_CA_CERTS` would have it. Costly: made once. */
function trust(ca: string): SecureContext {
  try {
    // createSecureContext() passes over what is no certificate.
    void new X509Certificate(ca);
  } catch (cause) {
    throw new TypeError("ca must hold certificates in PEM.", { cause });
  }
  return createSecureContext({ ca: [...rootCertificates, ca] });
}

function checkUrl(text: string): URL {
  if (!URL.canParse(text)) throw new TypeError(`The url is not an absolute URL: ${JSON.stringify(text)}.`);
  const url = new URL(text);
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new TypeError(`The url must start with http:// or https://, but got ${JSON.stringify(text)}.`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new TypeError(
      "The url holds a user name or a password. Pass them as an Authorization header in headers.",
    );
  }
  return url;
}

function checkHeader(name: string, value: string): void {
  if (OWN_HEADERS.has(name.toLowerCase())) {
    throw new TypeError(`The header ${name} is set by the audits themselves. Remove it from headers.`);
  }
  validateHeaderName(name);
  validateHeaderValue(name, value);
}
