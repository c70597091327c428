import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { isResponse } from "./is-response.ts";
import type { FetchTarget } from "./target.ts";

/** Answers a Node request by a fetch handler: the same bytes and headers in, the same out. */
export async function answerWithFetch(
  target: FetchTarget,
  message: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  // What the handler leaves unread would keep the next request of the connection from being read.
  response.once("finish", () => message.removeAllListeners("data").resume());
  const answer = await target.fetch(requestOf(message, gone.signal));
  if (!isResponse(answer)) {
    throw new TypeError("the target's fetch() returned no Response");
  }
  response.statusCode = answer.status;
  for (const [name, value] of answer.headers) {
    response.appendHeader(name, value);
  }
  if (answer.body === null) {
    response.end();
    return;
  }
  await pipeline(Readable.fromWeb(answer.body), response);
}

function requestOf(message: IncomingMessage, signal: AbortSignal): Request {
  const headers = new Headers();
  for (const [name, values] of Object.entries(message.headersDistinct)) {
    for (const value of values ?? []) {
      headers.append(name, value);
    }
  }
  const method = message.method ?? "GET";
  const bodyless = method === "GET" || method === "HEAD";
  return new Request(new URL(message.url ?? "/", `http://${message.headers.host ?? "localhost"}`), {
    method,
    headers,
    signal,
    ...(bodyless ? {} : { body: Readable.toWeb(message), duplex: "half" }),
  });
}
