/** One POST to the endpoint. */
export interface TransportRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON in UTF-8, gzipped if the headers say so. */
  // This is Uint8Array<ArrayBuffer>, but TypeScript before 5.7 reads it, too: there, Uint8Array has no type parameter.
  readonly body: ReturnType<typeof Uint8Array.of>;
  /** Aborted at the time-out, and when the client abandons the request. */
  readonly signal: AbortSignal;
}

/** The answer of the endpoint. */
export interface TransportResponse {
  readonly status: number;
  /** Headers by case-insensitive name; a `Headers` object fits. */
  readonly headers: { get(name: string): string | null };
  /** The body as text. More than a few kilobytes of it are of no use. */
  readonly body: string;
}

/**
 * How requests are made: global `fetch` unless another one is injected. It resolves with any answer whatever its
 * status, and rejects when there was none.
 */
export interface Transport {
  send(request: TransportRequest): Promise<TransportResponse>;
}

/** As much of an answer as is read, in bytes. */
const MAX_RESPONSE_BYTES = 16_384;

/**
 * The default transport. Connections are kept alive wherever the runtime's `fetch` keeps them alive.
 *
 * @param fetch - The `fetch` to use instead of the global one, for a proxy or an agent.
 */
export function fetchTransport(fetch?: typeof globalThis.fetch): Transport {
  return {
    async send({ url, headers, body, signal }) {
      const send = fetch ?? globalThis.fetch;
      // Following a 301 would repeat the request as a GET without a body, and report its 200 as a success.
      const response = await send(url, { method: "POST", headers, body, signal, redirect: "manual" });
      return { status: response.status, headers: response.headers, body: await readStart(response) };
    },
  };
}

/** Reads to the end, so that the connection can be used again, unless the end is too far. */
async function readStart(response: Response): Promise<string> {
  if (!response.body) return "";
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (let bytes = 0; bytes <= MAX_RESPONSE_BYTES;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.length;
    text += decoder.decode(value, { stream: true });
  }
  await reader.cancel();
  return text;
}

/** Gzips by the runtime's own CompressionStream. */
export async function gzip(bytes: TransportRequest["body"]): Promise<TransportRequest["body"]> {
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
