import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { isMessage, verifySignature } from "@countersign/core";
import { listen, SECRET, type RunningReceiver } from "./listen.ts";

const MAX_BODY_BYTES = 256 * 1024;

/** A request as the receiver has seen it. */
export interface Seen {
  readonly request: IncomingMessage;
  readonly signature: string | undefined;
  readonly chunks: readonly Buffer[];
  readonly bytes: Buffer;
  readonly text: string;
  /** The parsed body, or undefined where it is not JSON. */
  readonly json: unknown;
}

export interface Reply {
  /** 0 breaks the connection off. */
  readonly status: number;
  readonly body?: string;
}

/** One way to be wrong. */
export interface Mutation {
  /** In place of the right reply; undefined keeps it. */
  reply?(seen: Seen, right: Reply): Reply | undefined | Promise<Reply | undefined>;
  /** Whether this request is read without any limit. */
  readsAll?(request: IncomingMessage): boolean;
  /** What comes around reading and answering a request. */
  around?(request: IncomingMessage, handle: () => Promise<void>): Promise<void>;
  setUp?(server: Server): void;
  /** Where it listens, in place of any port that is free. */
  readonly port?: number;
}

/** A right receiver, written by hand on node:http, with one thing wrong with it. */
export function handWrittenReceiver(mutation: Mutation = {}): Promise<RunningReceiver> {
  const server = createServer((request, response) => {
    const handle = (): Promise<void> => answer(request, response, mutation);
    (mutation.around?.(request, handle) ?? handle()).catch(() => response.destroy());
  });
  mutation.setUp?.(server);
  return listen(server, mutation.port);
}

async function answer(request: IncomingMessage, response: ServerResponse, mutation: Mutation): Promise<void> {
  const readsAll = mutation.readsAll?.(request) ?? false;
  const chunks = await read(request, readsAll ? Number.POSITIVE_INFINITY : MAX_BODY_BYTES);
  const bytes = Buffer.concat(chunks ?? []);
  const text = bytes.toString("utf8");
  const signature = request.headersDistinct["x-signature"]?.join(", ");
  const seen: Seen = { request, signature, chunks: chunks ?? [], bytes, text, json: parse(text) };
  const tooLarge = chunks === undefined || bytes.length > MAX_BODY_BYTES;
  const right = tooLarge ? { status: 413 } : rightReply(seen);
  const { status, body = "" } = (await mutation.reply?.(seen, right)) ?? right;
  if (status === 0) request.destroy();
  else response.writeHead(status, chunks === undefined ? { Connection: "close" } : {}).end(body);
}

/** The chunks of the body, or undefined when there are too many. */
function read(request: IncomingMessage, limit: number): Promise<Buffer[] | undefined> {
  if (Number(request.headers["content-length"] ?? 0) > limit) return Promise.resolve(undefined);
  if (request.destroyed) return Promise.reject(new Error("The body broke off."));
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    request.on("data", (chunk: Buffer) => {
      length += chunk.length;
      if (length <= limit) chunks.push(chunk);
      else resolve(undefined);
    });
    request.on("end", () => resolve(chunks));
    request.on("close", () => reject(new Error("The body broke off.")));
  });
}

function rightReply({ request, signature, bytes, text, json }: Seen): Reply {
  if (request.method !== "POST") return { status: 405 };
  if (!/^application\/json\s*(;|$)/i.test(request.headers["content-type"] ?? "")) return { status: 415 };
  if (request.headers["content-encoding"] !== undefined) return { status: 415 };
  if (!verifySignature(bytes, signature, SECRET).ok) return { status: 401 };
  if (json === undefined || !Buffer.from(text).equals(bytes)) return { status: 400 };
  return { status: isMessage(json) ? 204 : 422 };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
