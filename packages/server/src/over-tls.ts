import type { FastifyRequest } from "fastify";

/** Whether the client speaks TLS, to this server or to a proxy in front of it. Only for what the client itself depends on. */
export function isOverTls({ protocol, headers }: Pick<FastifyRequest, "protocol" | "headers">): boolean {
  return protocol === "https" || headers["x-forwarded-proto"] === "https";
}
