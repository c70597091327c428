import type { NoAnswer } from "./no-answer.ts";

const NOT_TLS: NoAnswer = {
  words: "did not complete the TLS handshake",
  cause: "The port speaks plain HTTP, or both sides have no TLS version or cipher in common.",
  fix: "Write http:// in place of https://, correct the port, or enable TLS 1.2 or later at the receiver.",
};

const WANTS_CERTIFICATE: NoAnswer = {
  words: "asks for a client certificate, and the sender has none",
  cause:
    "The receiver, or a proxy in front of it, lets in only clients that have a certificate (mutual TLS). The signature of a message says who sent it.",
  fix: "Let requests to the path of the webhook in without a client certificate.",
};

const NO_SUCH_NAME: NoAnswer = {
  words: "ended the TLS handshake",
  cause: "Most likely, the receiver has no site, or no certificate, for the host name in the URL.",
  fix: "Correct the host name in the URL, or set up a certificate for it at the receiver.",
};

const NOTHING_IN_COMMON: NoAnswer = {
  words: "refused the TLS handshake",
  cause:
    "Both sides have no TLS version or cipher in common, or the receiver has no certificate for the host name in the URL, or it lets in only clients that have a certificate (mutual TLS).",
  fix: "Enable TLS 1.2 or later with the usual ciphers at the receiver, check the host name in the URL, and let requests to the webhook in without a client certificate.",
};

const OLD_TLS: NoAnswer = {
  words: "has no version of TLS in common with the sender",
  cause: "The receiver has only TLS 1.1 or older.",
  fix: "Enable TLS 1.2 or later at the receiver.",
};

/** The codes of a TLS handshake that failed, and of a certificate that is not accepted, each with its text. */
export const TLS_CODES: Readonly<Record<string, NoAnswer>> = {
  EPROTO: NOT_TLS,
  ERR_SSL_WRONG_VERSION_NUMBER: NOT_TLS,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NOT_TLS,
  ERR_TLS_HANDSHAKE: NOT_TLS,
  CERT_HAS_EXPIRED: {
    words: "has an expired certificate",
    cause: "The certificate was not renewed.",
    fix: "Renew the certificate of the receiver.",
  },
  CERT_NOT_YET_VALID: {
    words: "has a certificate that is not valid yet",
    cause: "The clock of this machine or of the issuer is wrong.",
    fix: "Check the date of this machine, then the certificate.",
  },
  DEPTH_ZERO_SELF_SIGNED_CERT: {
    words: "has a self-signed certificate",
    cause: "The certificate was made by hand, often for development.",
    fix: "Pass it as the endpoint's `ca` (--ca FILE), or use a certificate of a public authority.",
  },
  SELF_SIGNED_CERT_IN_CHAIN: {
    words: "has a certificate from an authority that is not trusted here",
    cause: "A company's own authority issued it, or a proxy inspects TLS.",
    fix: "Pass the certificate of that authority as the endpoint's `ca` (--ca FILE).",
  },
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: {
    words: "has a certificate whose issuer is not known here",
    cause:
      "The receiver sends its own certificate only. Its authority is private, such as a company's or that of mkcert, or the intermediate certificates are missing.",
    fix: "Pass the certificate of a private authority as the endpoint's `ca` (--ca FILE). Else, configure the full chain at the receiver, such as fullchain.pem.",
  },
  UNABLE_TO_GET_ISSUER_CERT: {
    words: "has a certificate whose issuer is not known here",
    cause: "An intermediate certificate is missing, or the authority is private.",
    fix: "Configure the full chain at the receiver, or pass the authority as the endpoint's `ca` (--ca FILE).",
  },
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: {
    words: "has a certificate from an authority that is not trusted here",
    cause: "The authority is private, or an intermediate certificate is missing.",
    fix: "Pass the certificate of the authority as the endpoint's `ca` (--ca FILE), or configure the full chain.",
  },
  CERT_UNTRUSTED: {
    words: "has a certificate that is not trusted here",
    cause: "The authority is not trusted for servers.",
    fix: "Use a certificate of a public authority, or pass the authority as the endpoint's `ca` (--ca FILE).",
  },
  CERT_REVOKED: {
    words: "has a revoked certificate",
    cause: "Its authority has withdrawn the certificate.",
    fix: "Get a new certificate for the receiver.",
  },
  CERT_REJECTED: {
    words: "has a certificate that is rejected here",
    cause: "The authority is explicitly distrusted for servers.",
    fix: "Use a certificate of another authority.",
  },
  CERT_SIGNATURE_FAILURE: {
    words: "has a damaged certificate",
    cause: "The signature of the certificate does not match its content.",
    fix: "Install the certificate of the receiver again.",
  },
  INVALID_PURPOSE: {
    words: "has a certificate that is not for servers",
    cause: "The certificate was issued for clients or for signing.",
    fix: "Issue a certificate for TLS servers.",
  },
  ERR_TLS_CERT_ALTNAME_INVALID: {
    words: "has a certificate for another host name",
    cause:
      "The URL names the host by an address or alias that the certificate does not list. *.example.com is for shop.example.com, but neither for example.com nor for eu.shop.example.com.",
    fix: "Use a host name of the certificate in the URL, or issue a certificate for this name.",
  },
};

/** The text of a certificate whose code is not listed. */
export const UNTRUSTED: NoAnswer = {
  words: "has a certificate that is not trusted here",
  cause: "The certificate could not be verified.",
  fix: "Use a certificate that is valid for this host, or pass its authority as the endpoint's `ca` (--ca FILE).",
};

/** What the codes of OpenSSL are about. Their names differ from version to version: `SSLV3_ALERT_`, `SSL/TLS_ALERT_`. */
const TLS_FAMILIES: readonly (readonly [RegExp, NoAnswer])[] = [
  [/_ALERT_(?:.*CERTIFICATE|UNKNOWN_CA|ACCESS_DENIED)/u, WANTS_CERTIFICATE],
  [/_UNRECOGNIZED_NAME|_ALERT_INTERNAL_ERROR/u, NO_SUCH_NAME],
  [/_ALERT_HANDSHAKE_FAILURE/u, NOTHING_IN_COMMON],
  [/_PROTOCOL_VERSION|_UNSUPPORTED_PROTOCOL/u, OLD_TLS],
];

/** The text of a code of OpenSSL, `ERR_SSL_...`, that is not listed. */
export function openSslText(code: string): NoAnswer {
  return TLS_FAMILIES.find(([family]) => family.test(code))?.[1] ?? NOT_TLS;
}
