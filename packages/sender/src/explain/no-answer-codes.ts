import type { NoAnswer } from "./no-answer.ts";
import { openSslText, TLS_CODES, UNTRUSTED } from "./tls-codes.ts";

/** The text of the codes of a connection that was closed. */
export const CLOSED: NoAnswer = {
  words: "closed the connection before answering",
  cause: "The receiver crashed or restarted, or a proxy in front of it ended the connection.",
  fix: "Look for a crash in the receiver's log, and for a limit of body size or time in the proxy.",
};

const TOO_SLOW: NoAnswer = {
  words: "did not answer in time",
  cause:
    "The handler never answers, or does slow work before it does, or the receiver is overloaded. If its log has no trace of the request, the network loses it: often of large messages only, where a firewall rejects the ICMP packets about their size.",
  fix: "Store the message, answer, and do slow work afterwards, for example from a queue. A receiver has 5 seconds. If the network loses requests, let ICMP pass.",
};

const NO_CONNECTION: NoAnswer = {
  words: "did not accept a connection in time",
  cause:
    "A firewall drops the packets, or the host is off. Or the DNS server or the TLS handshake takes too long.",
  fix: "Check that the host runs, that firewalls on both sides allow the port, and that the DNS server answers.",
};

const UNREACHABLE: NoAnswer = {
  words: "cannot be reached over the network",
  cause:
    "No route leads to its address: a VPN is off, a firewall rejects the packets, or the address is wrong.",
  fix: "Connect to that network, or correct the address.",
};

const NOT_HTTP: NoAnswer = {
  words: "answered something that is not HTTP",
  cause: "The port uses another protocol: often HTTPS, or that of a database.",
  fix: "Correct the port, or write https:// in place of http://.",
};

const UNKNOWN: NoAnswer = {
  words: "did not answer",
  cause: "The connection failed.",
  fix: "Read the attempt's message, and the log of the receiver.",
};

/** What helps where WebAssembly has no addresses left for its memory. */
export const MORE_ADDRESSES =
  "Raise the limit (ulimit -v), or start Node with --disable-wasm-trap-handler, which needs fewer.";

/** Every code that an attempt without an answer can have, with its text. Other codes: {@link noAnswer}. */
export const NO_ANSWER_CODES: Readonly<Record<string, NoAnswer>> = {
  ECONNREFUSED: {
    words: "refused the connection",
    cause: "Nothing listens at this address and port.",
    fix: "Start the receiver, or correct the URL. In a container, localhost is the container itself.",
  },
  ECONNRESET: CLOSED,
  EPIPE: CLOSED,
  UND_ERR_SOCKET: CLOSED,
  UND_ERR_CLOSED: CLOSED,
  ERR_TIMEOUT: TOO_SLOW,
  ETIMEDOUT: NO_CONNECTION,
  UND_ERR_CONNECT_TIMEOUT: NO_CONNECTION,
  ENOTFOUND: {
    words: "has a host name that does not exist",
    cause: "The name is misspelt, or is known only in another network.",
    fix: "Correct the host name in the URL, or add it to the DNS or to the hosts file.",
  },
  EAI_AGAIN: {
    words: "has a host name that cannot be looked up now",
    cause: "The DNS server does not answer: this machine is offline, or its resolver is misconfigured.",
    fix: "Check the network of this machine.",
  },
  EHOSTUNREACH: UNREACHABLE,
  ENETUNREACH: UNREACHABLE,
  EADDRNOTAVAIL: {
    words: "could not be called: this machine has no free local port or no such address",
    cause: "Too many connections are open at once, or IPv6 is used on a machine without it.",
    fix: "Lower the concurrency of the destination, or use an IPv4 address.",
  },
  EMFILE: {
    words: "could not be called: this process has too many open files",
    cause: "The limit of open files is lower than the connections and files in use.",
    fix: "Raise the limit with ulimit -n, or lower the concurrency of the destination.",
  },
  ERR_WASM_MEMORY: {
    words: "could not be called: this process has no addresses left for WebAssembly",
    cause:
      "A limit is set on the addresses of the process. The HTTP client reads responses with WebAssembly, for which Node reserves some 10 GB of addresses. Node 20 reserves as many again for its own HTTP client.",
    fix: MORE_ADDRESSES,
  },
  ERR_HTTP_PARSER: NOT_HTTP,
  UND_ERR_HEADERS_OVERFLOW: {
    words: "answered with headers larger than 16 KiB",
    cause: "The receiver sets very large cookies or headers.",
    fix: "Do not set cookies in the answers to webhooks.",
  },
  ERR_INFORMATIONAL_FLOOD: {
    words: "sent informational responses without end, and no answer",
    cause: "The receiver or a proxy repeats a 1xx response.",
    fix: "Answer with one final status, such as 204.",
  },
  ERR_UNEXPECTED_INFORMATIONAL: {
    words: "sent 100 Continue or 101 Switching Protocols, which was not asked for",
    cause:
      "The receiver, or a proxy in front of it, sends 100 Continue or 101 Switching Protocols, but the request has neither an `Expect` nor an `Upgrade` header. The sender's HTTP library then ends the connection, so the final status is not seen, and the message is sent again.",
    fix: "Answer with the final status only. 102 and 103 may precede it; 100 and 101 may not.",
  },
  ERR_UNKNOWN: UNKNOWN,
  ERR_ADDRESS_BLOCKED: {
    words: "has an address that may not be called",
    cause:
      "The host is a link-local address or the metadata service of a cloud, which are never called, or it is in a private network, and those are blocked.",
    fix: "Use another address. A private network is called without `blockPrivateNetworks` (--block-private-networks).",
  },
  ERR_PROXY: {
    words: "was not called: the proxy did not let the request through",
    cause:
      "The proxy that the sender is configured with does not answer, or refuses the tunnel to the endpoint. The attempt's message has its answer. 407 asks for a user name and a password. 403 is a rule of the proxy: some allow tunnels to port 443 only. 502 to 504 mean that the proxy does not reach the endpoint.",
    fix: "Correct `proxy` (--proxy), or allow the endpoint's host and port at the proxy. To call the host directly, name it in `noProxy` (--noproxy).",
  },
  ERR_INVALID_CA: {
    words: "has a certificate authority that cannot be read",
    cause: "The `ca` of the endpoint is not a certificate in PEM.",
    fix: "Pass the text of the PEM file as `ca`.",
  },
  UND_ERR_INVALID_ARG: {
    words: "could not be called: the request cannot be sent as configured",
    cause: "A static header or the URL of the endpoint has a character that HTTP does not allow.",
    fix: "Correct the headers and the URL of the endpoint.",
  },
  UND_ERR_NOT_SUPPORTED: {
    words: "could not be called: the request cannot be sent as configured",
    cause: "A static header of the endpoint cannot be sent, such as `Expect`.",
    fix: "Remove that header from the endpoint.",
  },
  UND_ERR_DESTROYED: {
    words: "did not answer before the sender was closed",
    cause: "The sender was closed during the attempt.",
    fix: "Nothing. The delivery continues at the next start if it is kept on disk.",
  },
  ERR_CLOSED: {
    words: "was not called: the sender was closed",
    cause: "The sender was closed before the attempt.",
    fix: "Nothing. The delivery continues at the next start if it is kept on disk.",
  },
  ERR_ABORTED: {
    words: "did not answer before the attempt was stopped",
    cause: "The sender was closed during the attempt.",
    fix: "Nothing. The delivery continues at the next start if it is kept on disk.",
  },
  ERR_TRANSPORT: {
    words: "could not be called: the transport failed",
    cause: "A transport of your own threw or rejected.",
    fix: "Read the attempt's message, and correct the transport.",
  },
  ...TLS_CODES,
};

/**
 * The text of an attempt's code. Codes that are not listed belong to a family, or get a general answer.
 *
 * @param outcome Tells a certificate of an unknown code from other failures.
 */
export function noAnswer(code: string | undefined, outcome: string): NoAnswer {
  if (code !== undefined && Object.hasOwn(NO_ANSWER_CODES, code)) return NO_ANSWER_CODES[code] ?? UNKNOWN;
  if (outcome === "tls") return UNTRUSTED;
  if (outcome === "timeout") return TOO_SLOW;
  if (code?.startsWith("HPE_")) return NOT_HTTP;
  if (code?.startsWith("ERR_SSL_")) return openSslText(code);
  return UNKNOWN;
}
