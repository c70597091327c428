import type { FastifyReply, FastifyRequest } from "fastify";
import { BROKEN_REQUESTS, isForClients } from "../broken-request.ts";
import { headersForPages } from "../ingest/cors.ts";

/** The longest name in a path, in characters. */
export const MAX_NAME_LENGTH = 512;

const TOO_LONG = `A name in the path has at most ${MAX_NAME_LENGTH} characters.`;
const NOT_ENCODED = "In the path, a percent sign must begin the code of a character, such as %20.";

/** Answers a path that no route can be found for: under `/v1` as clients read it, elsewhere as a problem. */
export function answerMalformedUrl(
  { code }: { readonly code: string },
  { url, headers }: Pick<FastifyRequest, "url" | "headers">,
  { raw }: FastifyReply,
): void {
  const { status, message } = BROKEN_REQUESTS.malformed_url;
  if (isForClients(url)) {
    const body = { success: false, code: "malformed_url", message };
    raw.writeHead(status, { ...headersForPages(headers.origin), "content-type": "application/json" });
    raw.end(JSON.stringify(body));
    return;
  }
  const detail = code === "FST_ERR_MAX_PARAM_LENGTH" ? TOO_LONG : NOT_ENCODED;
  raw.writeHead(status, { "content-type": "application/problem+json" });
  raw.end(JSON.stringify({ type: "about:blank", title: "Bad Request", status, detail }));
}
