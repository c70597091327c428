import type { Sender } from "@countersign/sender";
import type { LiveEvent } from "../live/live-event.ts";

/** A running server. */
export interface CountersignServer {
  /** Where it listens, such as `http://127.0.0.1:4010`: what clients take as their host. */
  readonly url: string;
  /** The engine that forwards the accepted calls. */
  readonly sender: Sender;
  /**
   * Calls `listener` with every event from now on. Returns a function that stops it.
   *
   * @param after The id of an event: begins with the events after it. `"start"`: begins with all events that are kept,
   *   about 10,000. When events are missing in between, the listener gets a `reset` in their place.
   */
  subscribe(listener: (event: LiveEvent) => void, after?: string): () => void;
  /**
   * Performs an operation of the control API in this process: the effect and the answer are the same as over
   * HTTP, and no token is needed.
   *
   * @param path The path after `/api`, with its query, such as `/faults`. Not `/events`, which has no end: call `subscribe()`.
   * @param body The JSON body, for operations that take one.
   */
  control(method: ControlMethod, path: string, body?: unknown): Promise<ControlAnswer>;
  /** Stops accepting requests, lets running ones finish, and releases everything. Idempotent. */
  close(options?: CloseOptions): Promise<void>;
  /** The same as `close()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** The methods of the control API's operations. */
export type ControlMethod = "GET" | "POST" | "PUT" | "DELETE";

/** The result of {@link CountersignServer.control}. */
export interface ControlAnswer {
  readonly status: number;
  /** The JSON of the answer; a problem (RFC 9457) for a status from 400 on. `undefined` if there is none. */
  readonly body: unknown;
}

/** Settings of {@link CountersignServer.close}. */
export interface CloseOptions {
  /** How long running requests and attempts may take to finish, in milliseconds. Default: 10,000. */
  readonly deadlineMs?: number | undefined;
}
