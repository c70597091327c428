import type { IncomingMessage, ServerResponse } from "node:http";

/**
 * A Node request listener, or an Express app, which is one.
 *
 * A plain function always counts as one. Its result is awaited, and must not be a `Response`.
 */
export type NodeTarget = (request: IncomingMessage, response: ServerResponse) => unknown;

/** A Koa app. */
export interface KoaTarget {
  callback(): (request: IncomingMessage, response: ServerResponse) => unknown;
}

/** A Fastify instance, listening or not: neither its server nor its lifetime is touched. */
export interface FastifyTarget {
  ready(): PromiseLike<unknown>;
  routing(request: IncomingMessage, response: ServerResponse): void;
}

/**
 * A server of `node:http`, listening or not, such as `app.getHttpServer()` of a Nest app that was initialised: its listeners
 * answer, and neither it nor its port is touched.
 */
export interface ServerTarget {
  listen(...parameters: never[]): unknown;
  listenerCount(event: string): number;
  emit(event: string, ...parameters: unknown[]): boolean;
}

/**
 * A fetch handler: a Hono app, or any function from a `Request` to a `Response` as `{ fetch: handler }`.
 *
 * The wrapping says which kind of function it is, because both kinds may take any number of parameters.
 */
export interface FetchTarget {
  fetch(request: Request): Response | Promise<Response>;
}

/**
 * An application that `createTestSender({ target })` delivers to, over a loopback port of its own.
 *
 * | given | counts as |
 * |---|---|
 * | a function | a Node request listener, or an Express app |
 * | an object with `ready()` and `routing()` | a Fastify instance |
 * | an object with `callback()` | a Koa app |
 * | an object with `fetch()` | a fetch handler, or a Hono app |
 * | an object with `listen()`, `listenerCount()` and `emit()` | a server of `node:http`, such as Nest's `app.getHttpServer()` |
 */
export type Target = NodeTarget | KoaTarget | FastifyTarget | FetchTarget | ServerTarget;
