import { performance } from "node:perf_hooks";
import { clearTimeout, setImmediate, setTimeout } from "node:timers";
import type { IncomingHttpHeaders } from "node:http";
import { LONGEST_TIMER_MS } from "@countersign/protocol";
import type { Dispatcher } from "undici";
import { type Cancellable, type Cancellation, cancelWith } from "./cancellation.ts";
import { keptHeaders } from "./kept-headers.ts";
import { outcomeOfError, outcomeOfStatus } from "./classify.ts";
import { TransportError } from "./transport-error.ts";
import type { AttemptRequest, AttemptResult, SendOptions } from "./transport.ts";

/** How much of a response's body is kept, in bytes (16 KiB). */
const MAX_RESPONSE_BODY_BYTES = 16_384;

const MAX_INFORMATIONAL = 16;

const NOTHING = new Uint8Array();

/** What one attempt sends, where it is not the request's own body. */
export interface Payload {
  readonly body: Uint8Array | AsyncIterable<Uint8Array>;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * One request and its response, over a dispatcher. Resolves when the response has ended, or 16 KiB of it have come,
 * or the time is up: an endpoint decides by its status line and headers, and can hold nothing up with its body.
 */
export function exchange(
  dispatcher: Dispatcher,
  request: AttemptRequest,
  payload: Payload,
  options: SendOptions,
): Promise<AttemptResult> {
  return new Promise((resolve) => {
    const running = new Exchange(request, options, resolve);
    if (running.ended) {
      return;
    }
    try {
      const { origin, path } = targetOf(request.url);
      dispatcher.dispatch(
        {
          origin,
          path,
          method: "POST",
          headers: payload.headers,
          // Async iterables are taken as well, which undici documents and its types leave out.
          body: payload.body as Uint8Array,
          // One timer rules the attempt: the connection's own would only say the same later.
          headersTimeout: 0,
          bodyTimeout: 0,
        },
        running,
      );
    } catch (error) {
      running.onResponseError(undefined, error);
    }
  });
}

/** Where a URL is called. */
interface Target {
  readonly origin: string;
  readonly path: string;
}

const targets = new Map<string, Target>();

/** More endpoints than this still work; their URLs are then parsed for each attempt. */
const MAX_TARGETS = 1_000;

function targetOf(url: string): Target {
  let target = targets.get(url);
  if (target === undefined) {
    const { origin, pathname, search } = new URL(url);
    target = { origin, path: pathname + search };
    if (targets.size >= MAX_TARGETS) targets.clear();
    targets.set(url, target);
  }
  return target;
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly durationMs: number;
}

class Exchange implements Dispatcher.DispatchHandler, Cancellable {
  readonly #startedAt = performance.now();
  readonly #request: AttemptRequest;
  readonly #options: SendOptions;
  readonly #settle: (result: AttemptResult) => void;
  readonly #timer: NodeJS.Timeout;
  #cancellation: Cancellation | undefined;
  #chunks: Uint8Array[] | undefined;
  #size = 0;
  #isSent = false;
  #isCut = false;
  #informational = 0;
  #answer: Answer | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  ended = false;
  /** Among what its signal cancels. */
  position = -1;

  constructor(request: AttemptRequest, options: SendOptions, settle: (result: AttemptResult) => void) {
    this.#request = request;
    this.#options = options;
    this.#settle = settle;
    this.#timer = setTimeout(this.#onTimeout, Math.min(options.timeoutMs, LONGEST_TIMER_MS));
    if (options.signal?.aborted === true) this.cancel();
    else if (options.signal !== undefined) this.#cancellation = cancelWith(options.signal, this);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // The time ran out while the connection was being made: nothing has been written yet, and nothing will be.
    if (this.ended) {
      this.#drop();
      return;
    }
    this.#isSent = true;
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    if (status >= 200) {
      this.#answer = { status, headers, durationMs: this.#elapsed() };
      return;
    }
    // An endless stream of them would keep this process busy until the time is up.
    this.#informational += 1;
    if (this.#informational > MAX_INFORMATIONAL) {
      const message = `more than ${MAX_INFORMATIONAL} informational responses, and no other`;
      controller.abort(new TransportError("ERR_INFORMATIONAL_FLOOD", message));
    }
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    const room = MAX_RESPONSE_BODY_BYTES - this.#size;
    this.#chunks ??= [];
    this.#chunks.push(chunk.length > room ? chunk.subarray(0, room) : chunk);
    this.#size += Math.min(chunk.length, room);
    if (chunk.length > room) {
      this.#isCut = true;
      this.#end();
      this.#drop();
    }
  }

  onResponseEnd(): void {
    this.#end();
  }

  onResponseError(_: Dispatcher.DispatchController | undefined, error: unknown): void {
    this.#end(error);
  }

  /** An answer that came while this process was held up is read first: what is sent again, the endpoint would have twice. */
  readonly #onTimeout = (): void => {
    if (this.#isSent) setImmediate(this.#giveUp);
    else this.#giveUp();
  };

  readonly #giveUp = (): void => {
    const { timeoutMs } = this.#options;
    // Without a controller, there is no connection: the receiver has not been asked yet.
    this.#end(
      this.#controller === undefined
        ? new TransportError("ETIMEDOUT", `no connection within ${timeoutMs} ms`)
        : new TransportError("ERR_TIMEOUT", `no response within ${timeoutMs} ms`),
    );
    this.#drop();
  };

  /** The attempt is cancelled by its signal. */
  cancel(): void {
    this.#end(new TransportError("ERR_ABORTED", "the attempt was cancelled"));
    this.#drop();
  }

  #drop(): void {
    this.#controller?.abort(new TransportError("ERR_ABORTED", "the attempt has ended"));
  }

  /** The first call settles the attempt. An error after the headers changes nothing: the endpoint has answered. */
  #end(error?: unknown): void {
    if (this.ended) {
      return;
    }
    this.ended = true;
    clearTimeout(this.#timer);
    this.#cancellation?.delete(this);
    this.#settle(this.#answer === undefined ? this.#failure(error) : this.#response(this.#answer));
    this.#chunks = undefined;
  }

  #response({ status, headers, durationMs }: Answer): AttemptResult {
    const retryAfter = firstOf(headers["retry-after"]);
    return {
      outcome: outcomeOfStatus(status),
      status,
      message: status >= 300 && status < 400 ? redirectMessage(status, firstOf(headers.location)) : undefined,
      durationMs,
      retryAfter,
      date: retryAfter === undefined ? undefined : firstOf(headers.date),
      responseHeaders: keptHeaders(headers),
      responseBody: this.#chunks === undefined ? NOTHING : bytesOf(this.#chunks),
      requestHeaders: keptHeaders(this.#request.headers),
      cut: this.#isCut ? true : undefined,
    };
  }

  #failure(error: unknown): AttemptResult {
    const { outcome, code, message } = outcomeOfError(
      error ?? new Error("the response ended before its headers"),
    );
    return {
      outcome,
      code,
      message,
      durationMs: this.#elapsed(),
      responseBody: NOTHING,
      requestHeaders: this.#isSent ? keptHeaders(this.#request.headers) : undefined,
    };
  }

  #elapsed(): number {
    return performance.now() - this.#startedAt;
  }
}

/** The bytes of a response, apart from the larger buffers that they were received in. */
function bytesOf(chunks: readonly Uint8Array[]): Uint8Array {
  const [first] = chunks;
  return new Uint8Array(first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks));
}

/** A header that was sent several times is a list, though its type does not say so. */
function firstOf(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === "object" ? header[0] : header;
}

function redirectMessage(status: number, location: string | undefined): string | undefined {
  if (location === undefined) return undefined;
  const shown = location.length > 200 ? `${location.slice(0, 200)}...` : location;
  return `answered ${status} to ${shown}; redirects are not followed`;
}
