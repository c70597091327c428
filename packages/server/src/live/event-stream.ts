import type { ServerResponse } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { LiveEvents } from "./live-events.ts";

/** A reader that is this far behind is disconnected. It reconnects by itself and sends the id of its last event. */
const MAX_BEHIND_BYTES = 1_048_576;
const HEARTBEAT_MS = 15_000;

/** The readers of the live event stream (server-sent events). */
export class EventStreams {
  readonly #events: Pick<LiveEvents, "subscribe">;
  readonly #open = new Set<ServerResponse>();

  constructor(events: Pick<LiveEvents, "subscribe">) {
    this.#events = events;
  }

  /** Turns a request into a reader, until it leaves or falls too far behind. */
  open(request: FastifyRequest, reply: FastifyReply): void {
    reply.hijack();
    const stream = reply.raw;
    stream.writeHead(200, {
      "content-type": "text/event-stream",
      "cache-control": "no-store",
      "x-accel-buffering": "no",
    });
    const write = (text: string): void => {
      stream.write(text);
      if (stream.writableLength > MAX_BEHIND_BYTES) stream.destroy();
    };
    write("retry: 1000\n\n");
    const unsubscribe = this.#events.subscribe(
      (event) => write(`id: ${event.id}\nevent: ${event.event}\ndata: ${JSON.stringify(event)}\n\n`),
      lastEventId(request),
    );
    const heartbeat = setInterval(() => write(": still here\n\n"), HEARTBEAT_MS);
    this.#open.add(stream);
    stream.on("error", () => stream.destroy());
    stream.once("close", () => {
      unsubscribe();
      clearInterval(heartbeat);
      this.#open.delete(stream);
    });
  }

  /** Ends every stream, so that they do not hold up a shutdown. */
  close(): void {
    for (const stream of this.#open) stream.end();
  }
}

function lastEventId(request: FastifyRequest): number | undefined {
  const header = request.headers["last-event-id"];
  const id = typeof header === "string" && header !== "" ? Number(header) : Number.NaN;
  return Number.isSafeInteger(id) ? id : undefined;
}
