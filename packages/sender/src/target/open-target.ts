import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { isError } from "@countersign/protocol";
import { answerWithFetch } from "./answer-with-fetch.ts";
import { isResponse } from "./is-response.ts";
import type { FastifyTarget, FetchTarget, KoaTarget, NodeTarget, ServerTarget, Target } from "./target.ts";

// A function of the other kind fails in many ways when it is called like a listener, and none of them says why.
const FETCH_HINT = "If the target is a fetch handler, pass it as { fetch: handler }. ";

/** A target that can be delivered to. */
export interface OpenTarget {
  /** Where it is, ending in `/`. */
  readonly url: string;
  /** Closes its port and every connection to it. The application stays as it is. Idempotent. */
  close(): Promise<void>;
}

/**
 * Gives an application a loopback port, so that messages reach it as they would from outside.
 *
 * @throws TypeError when the target is nothing that can answer a request. What keeps a Fastify instance from getting
 * ready is thrown as it is.
 */
export async function openTarget(target: Target): Promise<OpenTarget> {
  const answer = await listenerOf(target);
  // What takes no response cannot answer as a listener does.
  const hint = typeof target === "function" && target.length < 2 ? FETCH_HINT : "";
  const server = createServer((request, response) => void guarded(answer, hint, request, response));
  // The sender's side of a connection keeps the process running for as long as a request takes.
  server.on("connection", (socket) => socket.unref());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  server.unref();
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    async close() {
      if (!server.listening) {
        return;
      }
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function listenerOf(target: Target): Promise<NodeTarget> {
  if (typeof target === "function") {
    return target;
  }
  if (isFastify(target)) {
    await target.ready();
    return (request, response) => target.routing(request, response);
  }
  if (isKoa(target)) {
    return target.callback();
  }
  if (isFetch(target)) {
    return (request, response) => answerWithFetch(target, request, response);
  }
  if (isServer(target)) {
    if (target.listenerCount("request") === 0) {
      throw new TypeError(
        "the target is a server without a request listener: pass createServer(app), or initialise the app first (await app.init() in Nest)",
      );
    }
    return (request, response) => void target.emit("request", request, response);
  }
  throw new TypeError(
    "target must be an Express app, a Koa app, a Fastify instance, an http.Server, a Node request listener, " +
      "or a fetch handler as { fetch: handler }",
  );
}

/**
 * Whatever goes wrong in a target is an answer of status 500 that says what. Nothing would be sent otherwise, and the
 * reason would be lost in a process that catches nothing.
 */
async function guarded(
  answer: NodeTarget,
  hint: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    const returned = await answer(request, response);
    if (isResponse(returned)) {
      fail(response, "The target is a fetch handler: it returned a Response. Pass it as { fetch: handler }.");
    }
  } catch (error) {
    const reason = isError(error) ? `${error.name}: ${error.message}` : String(error);
    const stop = /[.!?]$/u.test(reason) ? "" : ".";
    // The reason may be long, and what shows an answer shows its beginning.
    fail(response, `${hint}The target failed: ${reason}${stop}`);
  }
}

function fail(response: ServerResponse, text: string): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(500, { "Content-Type": "text/plain; charset=utf-8", Connection: "close" });
  response.end(`${text}\n`);
}

function isFastify(target: Exclude<Target, NodeTarget>): target is FastifyTarget {
  return hasMethod(target, "ready") && hasMethod(target, "routing");
}

function isKoa(target: Exclude<Target, NodeTarget>): target is KoaTarget {
  return hasMethod(target, "callback");
}

function isFetch(target: Exclude<Target, NodeTarget>): target is FetchTarget {
  return hasMethod(target, "fetch");
}

function isServer(target: Exclude<Target, NodeTarget>): target is ServerTarget {
  return ["listen", "listenerCount", "emit"].every((name) => hasMethod(target, name));
}

function hasMethod(target: unknown, name: string): boolean {
  return typeof target === "object" && target !== null && typeof Reflect.get(target, name) === "function";
}
