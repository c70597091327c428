import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import {
  checkFunction,
  checkOptionNames,
  codeOf,
  HEADERS_SYNONYMS,
  HOST_SYNONYMS,
  listeningUrl,
  messageOf,
  type OptionNames,
  SECRET_SYNONYMS,
} from "@countersign/protocol";
import { sendResponse } from "@countersign/core/node";
import { createTransport, type AttemptResult, type Transport } from "@countersign/sender";
import { ATTEMPT_TIMEOUT_MS } from "@countersign/sender/explain";
import { answerBrokenRequest } from "@countersign/server/explain";
import { openRecorder, type Recorder } from "@countersign/server/recording";
import { mergeHeaders } from "../input/merge-headers.ts";
import { UsageError } from "../errors/usage-error.ts";
import type { Heard } from "./heard.ts";
import { createReader, type ReadRequest } from "./read-request.ts";
import { recordedHeaders, urlOf } from "./recorded-headers.ts";

const MAX_CONNECTIONS = 1_000;

/** Settings of {@link listen}. */
export interface ListenOptions {
  /** Port to listen on; 0 takes any that is free. */
  readonly port: number;
  /** Address to listen on. Default: `127.0.0.1`. */
  readonly host?: string | undefined;
  /** The shared secret. Without one, signatures are not verified. */
  readonly secret?: string | undefined;
  /** URL to which messages are forwarded, byte for byte; its answer is the answer to the service. */
  readonly forward?: string | undefined;
  /** Headers that are added to forwarded messages. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Certificate authorities of `forward` to trust instead of the system's, in PEM. */
  readonly ca?: string | undefined;
  /** File to append each message to, for `replay`. */
  readonly record?: string | undefined;
  /** Called when a request has been answered. */
  readonly onRequest?: ((heard: Heard) => void) | undefined;
  /** Receives errors that belong to no request, such as a recording that can no longer be written. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

const OPTION_NAMES: OptionNames<ListenOptions> = {
  port: true,
  host: HOST_SYNONYMS,
  secret: SECRET_SYNONYMS,
  forward: true,
  headers: HEADERS_SYNONYMS,
  ca: true,
  record: true,
  onRequest: true,
  onError: true,
};

/** A running listener. */
export interface Listener {
  /** Where it listens. Every path is accepted. */
  readonly url: string;
  /** Stops accepting requests, and waits for those in progress, for at most this many milliseconds. Default: 10,000. */
  close(deadlineMs?: number): Promise<void>;
}

/**
 * Receives webhooks of the real service: verifies each, records it for `replay`, and forwards it. A request
 * with a wrong signature is answered 401, and is neither recorded nor forwarded. An authentic message that is
 * malformed is recorded and forwarded.
 *
 * @throws UsageError when the address or port cannot be used; ServerError when the file of `record` cannot be written.
 * @throws TypeError for an unknown option.
 * @example
 * ```ts
 * const listener = await listen({ port: 4011, secret: "dev", record: "traffic.jsonl", onRequest: (heard) => console.log(heard) });
 * await listener.close();
 * ```
 */
export async function listen(options: ListenOptions): Promise<Listener> {
  checkOptionNames("listen()", options, OPTION_NAMES);
  checkFunction("listen({ onRequest })", options.onRequest);
  const { port, host = "127.0.0.1", secret, record: file, onRequest, onError = () => {} } = options;
  const read = createReader(secret);
  const recorder = file === undefined ? undefined : openRecorder({ file, now: Date.now, onError });
  const transport = createTransport();
  const release = async (): Promise<void> => {
    recorder?.close();
    await transport.close();
  };
  const underWay = new Set<ServerResponse>();
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    const at = new Date().toISOString();
    underWay.add(response);
    response.once("close", () => underWay.delete(response));
    if (!server.listening) response.setHeader("connection", "close");
    hear(request, response, { read, recorder, transport, options })
      .then((heard) => onRequest?.({ at, ...heard }))
      .catch((error: unknown) => {
        onError(error);
        if (!response.headersSent) response.writeHead(500);
        response.end();
      });
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.on("clientError", (error, socket) => answerBrokenRequest(error, socket, { onError }));
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  try {
    await started(server, host, port);
  } catch (error) {
    await release();
    throw error;
  }
  return {
    url: addressOf(server, host),
    async close(deadlineMs = 10_000) {
      await stop(server, { underWay, sockets }, deadlineMs);
      await release();
    },
  };
}

/** What is open when a server stops. */
interface Open {
  readonly underWay: ReadonlySet<ServerResponse>;
  readonly sockets: ReadonlySet<Socket>;
}

interface Parts {
  readonly read: (request: IncomingMessage) => Promise<ReadRequest>;
  readonly recorder: Recorder | undefined;
  readonly transport: Transport;
  readonly options: ListenOptions;
}

async function hear(
  request: IncomingMessage,
  response: ServerResponse,
  { read, recorder, transport, options }: Parts,
): Promise<Omit<Heard, "at">> {
  const { accepted, refusal, ...facts } = await read(request);
  const verdict = !accepted ? "rejected" : options.secret === undefined ? "unsigned" : "verified";
  const known = { verdict, ...facts } as const;
  const { body } = facts;
  if (!accepted || body === undefined) {
    if (refusal) sendResponse(response, refusal);
    return { ...known, status: response.statusCode };
  }
  const headers = recordedHeaders(request);
  recorder?.record({ url: urlOf(request), headers, body });
  if (options.forward === undefined) {
    if (refusal) sendResponse(response, refusal);
    else response.writeHead(204).end();
    return { ...known, status: response.statusCode };
  }
  const { forward: url, ca } = options;
  const forwarded = await transport.send(
    { url, headers: mergeHeaders(headers, options.headers), body, ca },
    { timeoutMs: ATTEMPT_TIMEOUT_MS },
  );
  passOn(response, forwarded);
  return { ...known, status: response.statusCode, forwarded };
}

/** Answers the service as the receiver did, so that it tries again what the receiver did not accept. */
function passOn(
  response: ServerResponse,
  { status, outcome, responseBody, responseHeaders, retryAfter }: AttemptResult,
): void {
  if (status === undefined) {
    response.writeHead(outcome === "timeout" ? 504 : 502).end();
    return;
  }
  const type = responseHeaders?.["content-type"];
  const hasBody = status !== 204 && status !== 304 && status >= 200;
  response.writeHead(status, {
    ...(type !== undefined && { "content-type": type }),
    ...(retryAfter !== undefined && { "retry-after": retryAfter }),
  });
  response.end(hasBody ? responseBody : undefined);
}

async function started(server: Server, host: string, port: number): Promise<void> {
  server.listen(port, host);
  try {
    await once(server, "listening");
  } catch (error) {
    const code = codeOf(error);
    throw new UsageError(
      code === "EADDRINUSE"
        ? `Port ${port} on ${host} is already in use. Stop the process that listens there, or choose another port with --port.`
        : `Cannot listen on ${host} port ${port}: ${messageOf(error)}. Choose another address with --host and --port.`,
    );
  }
}

/** Waits for requests, and for no connection that has none: Node would wait for those that are new, or have just had one. */
async function stop(server: Server, { underWay, sockets }: Open, deadlineMs: number): Promise<void> {
  const closed = once(server, "close");
  server.close();
  server.closeIdleConnections();
  for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
  for (const response of underWay) if (!response.headersSent) response.setHeader("connection", "close");
  const timer = setTimeout(() => server.closeAllConnections(), deadlineMs);
  await closed;
  clearTimeout(timer);
}

function addressOf(server: Server, host: string): string {
  const address = server.address();
  return listeningUrl("http", host, typeof address === "object" && address !== null ? address.port : 0);
}
