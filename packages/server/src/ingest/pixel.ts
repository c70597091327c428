import type { FastifyReply } from "fastify";
import { refusal, type Refusal } from "./refusal.ts";

/** One transparent dot. */
const GIF = Buffer.from("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7", "base64");

/** The answer to a pixel without a call. */
export const NO_PIXEL_DATA: Refusal = refusal(
  "no_data",
  "Pass the call, with its `writeKey`, as base64 of its JSON: /v1/pixel/track?data=...",
);

/** The JSON of the call that a pixel carries: mail programs load images, and run no client library. */
export function pixelCall(query: unknown): Buffer | undefined {
  const { data } = query as { readonly data?: unknown };
  // In a query string, `+` means a space.
  return typeof data === "string" && data !== ""
    ? Buffer.from(data.replaceAll(" ", "+"), "base64")
    : undefined;
}

/** Answers with the picture that was asked for. */
export function sendPixel(reply: FastifyReply): FastifyReply {
  return reply.type("image/gif").header("cache-control", "no-store").send(GIF);
}
