import { createHash, timingSafeEqual } from "node:crypto";
import { isIP } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";
import { Problem } from "../api/problem.ts";
import { isPageFile } from "../page/page-files.ts";

/** Who may use everything but the ingestion API. */
export interface GuardOptions {
  /** Asked for, when given, as `Authorization: Bearer TOKEN`, or in the cookie that `/?token=TOKEN` sets. */
  readonly token?: string | undefined;
  /** Host names that requests may use, in addition to localhost and IP addresses. */
  readonly allowHosts?: readonly string[] | undefined;
}

const COOKIE = "countersign_token";
const OPEN_TO_ALL = new Set(["/healthz", "/readyz"]);

/**
 * Creates the hook that keeps others out: web pages that a developer visits (by Host, so that DNS rebinding does not help,
 * by Origin and by Sec-Fetch-Site), and on a network everyone without the token.
 */
export function createGuard({ token, allowHosts = [] }: GuardOptions) {
  const hosts = new Set(["localhost", ...allowHosts.map((host) => host.toLowerCase())]);
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> => {
    assertHost(request, hosts);
    assertOrigin(request);
    if (token === undefined || OPEN_TO_ALL.has(pathOf(request))) return undefined;
    const given = new URLSearchParams(request.url.split("?")[1]).get("token");
    if (pathOf(request) === "/" && given !== null && matches(given, token)) {
      return reply
        .header("set-cookie", `${COOKIE}=${encodeURIComponent(token)}; HttpOnly; SameSite=Strict; Path=/`)
        .redirect("/", 303);
    }
    if (!presented(request).some((candidate) => matches(candidate, token))) {
      if (isPageFile(pathOf(request)) && request.method === "GET") return withoutToken(request, reply);
      reply.header("www-authenticate", "Bearer");
      throw new Problem(
        401,
        "Send the token of --token as `Authorization: Bearer TOKEN`, or open /?token=TOKEN in a browser.",
      );
    }
    return undefined;
  };
}

/** Lets the page itself through, which has nothing to hide and asks for the token. Programs learn from the status. */
function withoutToken(request: FastifyRequest, reply: FastifyReply): undefined {
  if (pathOf(request) === "/") reply.code(401).header("www-authenticate", "Bearer");
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
  if (foreign || crossSite) throw new Problem(403, "Web pages of other origins may not use this API.");
}

/** The host without its port; an IPv6 address without its brackets. */
function hostName(host: string | undefined): string {
  const [, bracketed, plain] = /^(?:\[([^\]]+)\]|([^:]+))(?::\d+)?$/.exec(host?.toLowerCase() ?? "") ?? [];
  return bracketed ?? plain ?? "";
}

function pathOf(request: FastifyRequest): string {
  return request.url.split("?", 1)[0] ?? "";
}

function presented({ headers }: FastifyRequest): readonly string[] {
  const bearer = /^bearer\s+(\S+)$/i.exec(headers.authorization ?? "")?.[1];
  const cookie = headers.cookie
    ?.split(";")
    .map((pair) => pair.trim())
    .find((pair) => pair.startsWith(`${COOKIE}=`))
    ?.slice(COOKIE.length + 1);
  return [bearer, cookie && decoded(cookie)].filter((value) => value !== undefined);
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return "";
  }
}

/** In constant time, whatever the lengths. */
function matches(given: string, token: string): boolean {
  return timingSafeEqual(digest(given), digest(token));
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
