import { codeOf, connectionMessageOf, isBytes } from "@countersign/protocol";
import http from "node:http";
import https from "node:https";
import net from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import tls from "node:tls";

/** As much of an answer as is kept: enough for any error page, while no endless body can fill the memory. */
const MAX_ANSWER_BYTES = 64 * 1024;

/** How long the body of an answer may take once its head is there, in ms. */
const ANSWER_BODY_MS = 1_000;

/** How long a client waits for 100 Continue before it sends the body anyway, in ms. */
const CONTINUE_MS = 1_000;

/** Where requests go. */
export interface Endpoint {
  readonly url: URL;
  /** Whom to trust, where that is not only the usual authorities. */
  readonly secureContext: tls.SecureContext | undefined;
  readonly signal: AbortSignal | undefined;
  /** Throws for an address that may not be called. */
  readonly checkAddress: ((host: string, address: string) => void) | undefined;
}

/** One request, down to how its bytes are put on the wire. */
export interface OutgoingRequest {
  readonly method: string;
  /** A list as value writes the header once for each. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** The body; the pieces of an iterable are written one by one, each when the one before has left. */
  readonly body: Uint8Array | AsyncIterable<Uint8Array>;
  /** After the body: end the request, or break the connection off, in order (`close`) or with a reset. */
  readonly ending: "end" | "close" | "reset";
  /** Hold the body back until the receiver says 100 Continue, or has kept silent for a second. */
  readonly awaitContinue: boolean;
  /** Connections to reuse; without it, the request opens a new one. */
  readonly agent: http.Agent | undefined;
  /** How long to wait for the head of an answer, in ms. */
  readonly timeoutMs: number;
}

/** What came back. */
export interface Answer {
  readonly status: number;
  readonly reason: string;
  /** Every header line, as received. */
  readonly headers: string;
  /** The first 64 KiB of the body, as UTF-8. */
  readonly body: string;
}

/** How a request ended. */
export interface Outcome {
  readonly answer: Answer | undefined;
  /** Why no response came. */
  readonly error: string | undefined;
  /** Whether the wait for an answer was given up. */
  readonly timedOut: boolean;
  /** From the start, connecting included, to the head of the answer or to giving up, in ms. */
  readonly durationMs: number;
  /** How many bytes of the body the receiver's side had taken by then, network buffers included. */
  readonly bytesTaken: number;
  /** Whether it had taken the whole body. */
  readonly bodyTaken: boolean;
  /** Whether an earlier request had used the same connection. */
  readonly reusedConnection: boolean;
}

/** Sends one request and waits, within bounds, for the answer. Resolves whatever the receiver does. */
export async function exchange(endpoint: Endpoint, outgoing: OutgoingRequest): Promise<Outcome> {
  const started = performance.now();
  const sending = { bytesTaken: 0, bodyTaken: false };
  const over = new AbortController();
  const request = open(endpoint, outgoing);
  // A failing body iterable is our own mistake, and ends the request like any other trouble.
  pump(request, outgoing, over.signal, sending).catch((error: Error) => request.destroy(error));
  try {
    const head = await headOf(request, outgoing.timeoutMs);
    const measured = {
      ...sending,
      durationMs: performance.now() - started,
      reusedConnection: request.reusedSocket,
    };
    if (!(head instanceof http.IncomingMessage)) return { ...measured, ...head, answer: undefined };
    return {
      ...measured,
      answer: await readAnswer(head, Math.min(ANSWER_BODY_MS, outgoing.timeoutMs)),
      error: undefined,
      timedOut: false,
    };
  } finally {
    over.abort();
    // Does nothing to a request that has ended well, whose connection may be reused.
    request.destroy();
  }
}

/** The head of the response, or why none came. */
function headOf(
  request: http.ClientRequest,
  timeoutMs: number,
): Promise<http.IncomingMessage | (Pick<Outcome, "timedOut"> & { error: string })> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      resolve({ error: `none within ${timeoutMs / 1000} s`, timedOut: true });
    }, timeoutMs);
    const settle = (head: Parameters<typeof resolve>[0]): void => {
      clearTimeout(timer);
      resolve(head);
    };
    request.on("response", settle);
    request.on("error", (error) => settle({ error: explain(error), timedOut: false }));
    // The last word where neither came, as after an answer of 101 that nobody asked for.
    request.on("close", () => settle({ error: "the connection was closed without one", timedOut: false }));
  });
}

/** The answer with as much of its body as comes in time and fits. */
function readAnswer(response: http.IncomingMessage, timeoutMs: number): Promise<Answer> {
  const { statusCode: status = 0, statusMessage: reason = "", rawHeaders } = response;
  const headers = rawHeaders.map((text, index) => (index % 2 === 0 ? `${text}: ` : `${text}\n`)).join("");
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const finish = (): void => {
      clearTimeout(timer);
      resolve({ status, reason, headers, body: Buffer.concat(chunks).toString("utf8") });
    };
    const timer = setTimeout(finish, timeoutMs);
    response.on("data", (chunk: Buffer) => {
      chunks.push(chunk.subarray(0, MAX_ANSWER_BYTES - size));
      size += chunk.length;
      if (size >= MAX_ANSWER_BYTES) finish();
    });
    for (const end of ["end", "error", "close"]) response.on(end, finish);
  });
}

/** Writes bytes that need not be HTTP, then reads until the receiver closes or `timeoutMs` are over. */
export function sendBytes(endpoint: Endpoint, bytes: Uint8Array, timeoutMs: number): Promise<void> {
  const { signal } = endpoint;
  const socket = connect(endpoint);
  return new Promise((resolve) => {
    const finish = (): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve();
    };
    const timer = setTimeout(finish, timeoutMs);
    signal?.addEventListener("abort", finish, { once: true });
    socket.on("error", finish);
    socket.on("close", () => {
      signal?.removeEventListener("abort", finish);
      finish();
    });
    socket.resume();
    socket.end(bytes);
  });
}

/** Why no connection can be made; undefined where one can. */
export function connectionTrouble(endpoint: Endpoint, timeoutMs: number): Promise<string | undefined> {
  const socket = connect(endpoint);
  return new Promise<string | undefined>((resolve) => {
    socket.setTimeout(timeoutMs, () => resolve(`no connection within ${timeoutMs / 1000} s`));
    socket.once("error", (error) => resolve(explain(error)));
    socket.once(endpoint.url.protocol === "https:" ? "secureConnect" : "connect", () => resolve(undefined));
  }).finally(() => socket.destroy());
}

function connect(endpoint: Endpoint): net.Socket {
  const { url, secureContext } = endpoint;
  const secure = url.protocol === "https:";
  const port = Number(url.port || (secure ? 443 : 80));
  const host = hostOf(url);
  const trust = { rejectUnauthorized: true, ...(secureContext && { secureContext }) };
  const socket = secure
    ? tls.connect({ host, port, ...trust, ...serverName(host) })
    : net.connect({ host, port });
  guard(socket, endpoint);
  return socket;
}

/** The name or the IP address in a URL. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, "");
}

/** Ends a socket before it connects to an address that may not be called. */
function guard(socket: net.Socket, { checkAddress }: Endpoint): void {
  if (checkAddress === undefined || !socket.connecting) return;
  // A name that cannot be resolved is told with the error, and without an address.
  socket.on("lookup", (failure: Error | null, address, __, host) => {
    if (failure !== null) return;
    try {
      checkAddress(host, address);
    } catch (error) {
      socket.destroy(error as Error);
    }
  });
}

function open(endpoint: Endpoint, outgoing: OutgoingRequest): http.ClientRequest {
  const { url, secureContext, signal } = endpoint;
  const { method, headers, agent } = outgoing;
  const secure = url.protocol === "https:";
  const request = (secure ? https : http).request(url, {
    method,
    headers: headers as http.OutgoingHttpHeaders,
    agent: agent ?? false,
    ...(signal && { signal }),
    // The sender rejects certificates it cannot trust, whatever NODE_TLS_REJECT_UNAUTHORIZED says (spec 5.2).
    ...(secure && { rejectUnauthorized: true, ...(secureContext && { secureContext }) }),
  });
  request.setNoDelay(true);
  request.on("socket", (socket) => guard(socket, endpoint));
  return request;
}

function serverName(host: string): { servername?: string } {
  return net.isIP(host) === 0 ? { servername: host } : {};
}

async function pump(
  request: http.ClientRequest,
  { body, ending, awaitContinue }: OutgoingRequest,
  over: AbortSignal,
  sending: { bytesTaken: number; bodyTaken: boolean },
): Promise<void> {
  const stopped = new Promise<void>((resolve) => {
    over.addEventListener("abort", () => resolve(), { once: true });
  });
  // With an Expect header, Node has sent the head by now.
  if (awaitContinue) await Promise.race([stopped, continued(request)]);
  for await (const piece of isBytes(body) ? [body] : body) {
    // An answer that has arrived is read first: to write to a connection that the receiver has closed would lose it.
    await turn();
    if (over.aborted) return;
    if (piece.length > 0 && (await Promise.race([stopped, written(request, piece)])) !== true) return;
    sending.bytesTaken += piece.length;
  }
  sending.bodyTaken = true;
  if (over.aborted) return;
  if (ending === "end") request.end();
  else if (ending === "close") request.destroy();
  else request.socket?.resetAndDestroy();
}

/** Whether the piece has left this process. */
function written(request: http.ClientRequest, piece: Uint8Array): Promise<boolean> {
  return new Promise((resolve) => {
    request.write(piece, (error) => resolve(error == null));
  });
}

function continued(request: http.ClientRequest): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, CONTINUE_MS);
    request.once("continue", resolve);
    request.once("close", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** What went wrong, with its code. */
function explain(error: unknown): string {
  const [code, message] = [codeOf(error), connectionMessageOf(error)];
  return code === undefined || message.includes(code) ? message : `${code}: ${message}`;
}
