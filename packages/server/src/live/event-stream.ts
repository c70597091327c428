import type { ServerResponse } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import { iso } from "../shapes/times.ts";
import type { EventLog, ResetReason, Stamp } from "./event-log.ts";
import type { HelloEvent, LiveEventBody, ResetEvent } from "./live-event.ts";

const HEARTBEAT_MS = 15_000;
/** Events of one message of a bundling stream. */
const MAX_BUNDLED = 1_000;
/** What is put together for one write. */
const MAX_WRITE_CHARACTERS = 16_384;

/** The options of a reader of the stream. */
export interface StreamOptions {
  /** The id of the last event that it has. */
  readonly after?: string | undefined;
  /** Bundles the events of so many milliseconds into one message. */
  readonly every?: number | undefined;
}

type Log = EventLog<LiveEventBody>;

/** The readers of the live event stream (server-sent events). */
export class EventStreams {
  readonly #log: Log;
  readonly #now: () => number;
  readonly #open = new Set<ServerResponse>();
  #isClosed = false;

  /** @param now The time, in milliseconds since 1970. */
  constructor(log: Log, now: () => number) {
    this.#log = log;
    this.#now = now;
  }

  /** Turns a request into a reader, until it leaves. */
  open(request: FastifyRequest, reply: FastifyReply, { after, every }: StreamOptions = {}): void {
    reply.hijack();
    const stream = reply.raw;
    stream.writeHead(200, {
      "content-type": "text/event-stream",
      // Compressed by HAProxy, an event would lack its last bytes until the next one.
      "cache-control": "no-store, no-transform",
      "x-accel-buffering": "no",
    });
    const begin = (): void => this.#begin(stream, { after: lastEventId(request) ?? after, every });
    // While an earlier response of its connection is unfinished, it has no socket, and is not told when the connection closes.
    if (stream.socket === null) stream.once("socket", begin);
    else begin();
  }

  /** Ends every stream, so that they do not hold up a shutdown. */
  close(): void {
    this.#isClosed = true;
    for (const stream of this.#open) stream.end();
  }

  #begin(stream: ServerResponse, { after, every }: StreamOptions): void {
    // The one before it on the connection has ended because of that.
    if (this.#isClosed) {
      stream.end();
      return;
    }
    stream.write("retry: 1000\n\n");
    const reader = new EventReader(this.#log, stream, { now: this.#now, every });
    reader.start(after);
    this.#open.add(stream);
    stream.on("error", () => stream.destroy());
    stream.once("close", () => {
      reader.stop();
      this.#open.delete(stream);
    });
  }
}

interface ReaderOptions {
  readonly now: () => number;
  readonly every?: number | undefined;
}

/**
 * Writes the log to one reader. It writes only while the reader takes it, so that nothing piles up; a reader for whom
 * events are no longer kept by then gets a `reset` in their place.
 */
class EventReader {
  readonly #log: Log;
  readonly #stream: ServerResponse;
  readonly #now: () => number;
  readonly #every: number | undefined;
  readonly #unsubscribe: () => void;
  readonly #heartbeat: NodeJS.Timeout;
  #position = 0;
  #next: (() => void) | undefined;
  #blocked = false;
  #blockedBeats = 0;

  constructor(log: Log, stream: ServerResponse, { now, every }: ReaderOptions) {
    this.#log = log;
    this.#stream = stream;
    this.#now = now;
    this.#every = every;
    this.#unsubscribe = log.onAdded(() => this.#wake());
    this.#heartbeat = setInterval(() => this.#beat(), HEARTBEAT_MS);
    stream.on("drain", () => {
      this.#blocked = false;
      this.#blockedBeats = 0;
      this.#writeOn();
    });
  }

  start(after: string | undefined): void {
    const { position, reset } = this.#log.startAfter(after);
    this.#position = position;
    if (reset) this.#writeReset(reset);
    else this.#writeOwn({ ...this.#stamp(), event: "hello", run: this.#log.run });
    this.#writeOn();
  }

  stop(): void {
    this.#unsubscribe();
    clearInterval(this.#heartbeat);
    this.#next?.();
  }

  /** Writes soon: together with what else this turn of the event loop brings, or when the interval is over. */
  #wake(): void {
    if (this.#next || this.#blocked) return;
    const run = (): void => {
      this.#next = undefined;
      this.#writeOn();
    };
    if (this.#every === undefined) {
      const immediate = setImmediate(run);
      this.#next = () => clearImmediate(immediate);
    } else {
      const timeout = setTimeout(run, this.#every);
      this.#next = () => clearTimeout(timeout);
    }
  }

  #writeOn(): void {
    while (!this.#blocked && this.#position < this.#log.last) {
      if (!this.#log.keepsAfter(this.#position)) {
        this.#position = this.#log.last;
        this.#writeReset("missed");
      } else if (this.#every === undefined) this.#writeEach();
      else this.#writeBundle();
    }
  }

  /** Several events in one write, each as a message of its own. */
  #writeEach(): void {
    let messages = "";
    while (this.#position < this.#log.last && messages.length < MAX_WRITE_CHARACTERS) {
      this.#position += 1;
      const event = this.#log.at(this.#position);
      messages += message(event?.id, event?.event, event);
    }
    this.#write(messages);
  }

  #writeBundle(): void {
    const until = Math.min(this.#log.last, this.#position + MAX_BUNDLED);
    const events: unknown[] = [];
    while (this.#position < until) events.push(this.#log.at((this.#position += 1)));
    // At once: to write each by itself takes longer.
    this.#write(message(this.#log.idOf(until), "events", events));
  }

  #writeReset(reason: ResetReason): void {
    this.#writeOwn({ ...this.#stamp(), event: "reset", run: this.#log.run, reason });
  }

  #writeOwn(event: HelloEvent | ResetEvent): void {
    this.#write(message(event.id, event.event, event));
  }

  #stamp(): Stamp {
    return { id: this.#log.idOf(this.#position), at: iso(this.#now()) };
  }

  #write(text: string): void {
    this.#blocked = !this.#stream.write(text);
  }

  /** Keeps proxies from closing an idle stream, and closes that of a reader that takes nothing any more. */
  #beat(): void {
    if (!this.#blocked) this.#write(": still here\n\n");
    else if ((this.#blockedBeats += 1) > 3) this.#stream.destroy();
  }
}

/** A server-sent event. */
function message(id: string | undefined, event: string | undefined, data: unknown): string {
  return `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

function lastEventId(request: FastifyRequest): string | undefined {
  const header = request.headers["last-event-id"];
  return typeof header === "string" && header !== "" ? header : undefined;
}
