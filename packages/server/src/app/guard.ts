import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { isIP } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";
import { Problem } from "../api/problem.ts";
import { isOverTls } from "../over-tls.ts";
import { isPageFile } from "../page/page-files.ts";

/** Who may use everything except the ingestion API. */
export interface GuardOptions {
  /** Asked for, when given, as `Authorization: Bearer TOKEN`, or in the cookie that `/?token=TOKEN` sets. */
  readonly token?: string | undefined;
  /** Host names that requests may use, in addition to localhost and IP addresses. */
  readonly allowHosts?: readonly string[] | undefined;
}

const OPEN_TO_ALL = new Set(["/healthz", "/readyz"]);

/** Refuses other requests. */
export interface Guard {
  /** A hook that refuses a request, or redirects it. */
  readonly check: (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply | undefined>;
  /** Whether a request carries the token, or none is asked for. */
  readonly isTrusted: (request: FastifyRequest) => boolean;
}

/**
 * Creates what keeps others out: web pages that a developer visits (by Host, so that DNS rebinding does not help, by
 * Origin and by Sec-Fetch-Site), and on a network everyone without the token.
 */
export function createGuard({ token, allowHosts = [] }: GuardOptions): Guard {
  const hosts = new Set(["localhost", ...allowHosts.map((host) => host.toLowerCase())]);
  const isTrusted = (request: FastifyRequest): boolean => token === undefined || presents(request, token);
  const check: Guard["check"] = async (request, reply) => {
    // Most answers contain what people did, and a cookie does not keep a proxy from storing them. The page's files say otherwise.
    reply.header("cache-control", "no-store");
    const [path = "", query] = request.url.split("?");
    // Load balancers ask in HTTP/1.0 without a name. Browsers, which DNS rebinding needs, always send one.
    if (request.headers.host !== undefined || !OPEN_TO_ALL.has(path)) assertHost(request, hosts);
    assertOrigin(request);
    if (token === undefined || OPEN_TO_ALL.has(path)) return undefined;
    const given = new URLSearchParams(query).get("token");
    if (path === "/" && given !== null && matches(given, token)) {
      return reply.header("set-cookie", cookieOf(request, token)).redirect("/", 303);
    }
    if (isTrusted(request)) return undefined;
    if (request.method === "GET" && isPageFile(path)) {
      // The page itself has nothing to hide, and asks for the token. Programs learn from the status.
      if (path === "/") reply.code(401).header("www-authenticate", "Bearer");
      return undefined;
    }
    reply.header("www-authenticate", "Bearer");
    throw new Problem(
      401,
      "Send the token of --token as `Authorization: Bearer TOKEN`, or open /?token=TOKEN in a browser.",
    );
  };
  return { check, isTrusted };
}

/** Over TLS, the browser must not send it without: any page of this host, at any port, would show it to the network. */
function cookieOf(request: FastifyRequest, token: string): string {
  const secure = isOverTls(request) ? "; Secure" : "";
  return `${cookieName(request)}=${cookieValue(request, token)}; HttpOnly; SameSite=Strict; Path=/${secure}`;
}

/**
 * A browser sends a cookie to every port of a host. So it is named by the port, for several servers not to overwrite each
 * other's, and it contains a value that only this port accepts in place of the token.
 */
function cookieName({ socket }: FastifyRequest): string {
  return `countersign_${socket.localPort}`;
}

function cookieValue({ socket }: FastifyRequest, token: string): string {
  return createHmac("sha256", token).update(`countersign cookie ${socket.localPort}`).digest("hex");
}

function assertHost(request: FastifyRequest, hosts: ReadonlySet<string>): void {
  const host = hostName(request.headers.host);
  if (isIP(host) > 0 || hosts.has(host) || host.endsWith(".localhost")) return;
  throw new Problem(
    403,
    "The Host header names neither this machine nor an allowed host. Allow it with --allow-host.",
  );
}

function assertOrigin(request: FastifyRequest): void {
  const { origin, host } = request.headers;
  const site = request.headers["sec-fetch-site"];
  const navigation = request.headers["sec-fetch-mode"] === "navigate" && request.method === "GET";
  const foreign = origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`;
  const crossSite = (site === "cross-site" || site === "same-site") && !navigation;
  // To its browser it is this server's page: only something between them can have changed the name.
  if (foreign && site === "same-origin")
    throw new Problem(
      403,
      "The Host header is not that of this page's address. Let the proxy in front of the server pass it on as it is, with the port.",
    );
  if (foreign || crossSite) throw new Problem(403, "Web pages of other origins may not use this API.");
}

/** The host without its port; an IPv6 address without its brackets. */
function hostName(host: string | undefined): string {
  const [, bracketed, plain] = /^(?:\[([^\]]+)\]|([^:]+))(?::\d+)?$/.exec(host?.toLowerCase() ?? "") ?? [];
  return bracketed ?? plain ?? "";
}

function presents(request: FastifyRequest, token: string): boolean {
  const { authorization = "", cookie = "" } = request.headers;
  // Whatever follows is the token: one of several words has spaces in it.
  const bearer = /^bearer\s+(.+)$/i.exec(authorization)?.[1];
  if (bearer !== undefined && matches(bearer, token)) return true;
  const name = `${cookieName(request)}=`;
  const pair = cookie.split(";").find((one) => one.trim().startsWith(name));
  return pair !== undefined && matches(pair.trim().slice(name.length), cookieValue(request, token));
}

/** In constant time, whatever the lengths. */
function matches(given: string, token: string): boolean {
  return timingSafeEqual(digest(given), digest(token));
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
