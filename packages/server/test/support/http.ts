import { once } from "node:events";
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The JSON of the body. */
  json(): unknown;
}

/** A request over a connection of its own, with exactly these headers: `fetch` would refuse or correct some. */
export async function send(
  url: string,
  {
    method = "GET",
    headers = {},
    body,
  }: { method?: string; headers?: Record<string, string>; body?: unknown } = {},
): Promise<Answer> {
  const json = body === undefined ? {} : { "content-type": "application/json" };
  const request = httpRequest(url, { method, headers: { ...json, ...headers }, agent: false });
  request.end(body === undefined ? undefined : JSON.stringify(body));
  const [response] = await once(request, "response");
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();
  return { status: response.statusCode, headers: response.headers, text, json: () => JSON.parse(text) };
}
