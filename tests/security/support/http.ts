import { once } from "node:events";
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";

/** An HTTP answer, its body as text. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** What {@link send} sends. */
export interface Outgoing {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Reads a stream that does not end, until this many milliseconds have brought nothing more. */
  readonly streamFor?: number;
}

/** Sends a request over a connection of its own, with exactly these headers: `fetch` refuses or corrects some. */
export async function send(
  url: string,
  { method = "GET", headers = {}, body, streamFor }: Outgoing = {},
): Promise<Answer> {
  const request = httpRequest(url, { method, headers: { ...headers }, agent: false });
  request.on("error", () => {});
  request.end(body);
  const [response] = await once(request, "response");
  const chunks: Buffer[] = [];
  response.on("data", (chunk: Buffer) => chunks.push(chunk));
  response.on("error", () => {});
  const isStream = String(response.headers["content-type"]).startsWith("text/event-stream");
  if (isStream) {
    if (streamFor !== undefined) response.setTimeout(streamFor, () => request.destroy());
    else request.destroy();
  }
  await new Promise((resolve) => response.once("close", resolve));
  return { status: response.statusCode, headers: response.headers, text: Buffer.concat(chunks).toString() };
}
