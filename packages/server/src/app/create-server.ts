import {
  checkOptionNames,
  systemClock,
  type Clock,
  type OptionNames,
  type VirtualClock,
} from "@countersign/protocol";
import {
  createSender,
  createTransport,
  DEFAULT_RETRY_POLICY,
  sqliteStore,
  type Sender,
  type Transport,
} from "@countersign/sender";
import { faultyTransport, type FaultyTransport } from "@countersign/sender/faults";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { FastifyInstance } from "fastify";
import type { ServerInfo } from "../api/operation.ts";
import { Certifications } from "../certify/certifications.ts";
import { iso } from "../shapes/times.ts";
import { version } from "./version.ts";
import { recordingTransport } from "../recording/recording-transport.ts";
import { SettingsBook, SettingsVersions } from "../settings/settings-book.ts";
import { checkServerOptions } from "./check-server-options.ts";
import { createApp } from "./create-app.ts";
import { EventStreams } from "../live/event-stream.ts";
import { FaultList } from "../live/fault-list.ts";
import { Ledger } from "../ledger/ledger.ts";
import type { LiveEvent } from "../live/live-event.ts";
import { LiveEvents } from "../live/live-events.ts";
import { createMetrics } from "../live/metrics.ts";
import { ResendJobs } from "../live/resend-jobs.ts";
import { StoreRoom } from "../live/store-room.ts";
import { WarningList } from "../live/warning-list.ts";
import { messageOf, ServerError } from "../errors/server-error.ts";
import { ServerOptionsError, sourcesOf, type ServerOptions } from "./server-options.ts";

/** A running server. */
export interface CountersignServer {
  /** Where it listens, such as `http://127.0.0.1:4010`: what clients take as their host. */
  readonly url: string;
  /** The engine that forwards what it accepts. */
  readonly sender: Sender;
  /**
   * Calls `listener` with everything that happens from now on. Returns what stops that.
   *
   * @param after The id of an event: begins with what happened after it. `"start"`: begins with everything that is kept,
   * about 10,000 events. When events are missing in between, the listener gets a `reset` in their place.
   */
  subscribe(listener: (event: LiveEvent) => void, after?: string): () => void;
  /**
   * Performs an operation of the control API in this process: what it does and answers is the same as over HTTP, and
   * no token is needed.
   *
   * @param path The path after `/api`, with its query, such as `/faults`.
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

/** What {@link CountersignServer.control} resolves to. */
export interface ControlAnswer {
  readonly status: number;
  /** The JSON of the answer; a problem (RFC 9457) for a status from 400 on. `undefined` where there is none. */
  readonly body: unknown;
}

/** Settings of {@link CountersignServer.close}. */
export interface CloseOptions {
  /** How long running requests and attempts may take to finish, in milliseconds. Default: 10,000. */
  readonly deadlineMs?: number | undefined;
}

const CLOSE_OPTIONS: OptionNames<CloseOptions> = { deadlineMs: true };
const NOWHERE =
  "No destination is configured. Pass --to URL, for example --to http://localhost:3000/webhooks, or write a countersign.config.json.";
const DEFAULT_PORT = 4010;
const DEFAULT_MAX_CONNECTIONS = 1_000;
const DEFAULT_DEADLINE_MS = 10_000;
/** How long an endpoint may take to respond (spec 7). */
const ATTEMPT_TIMEOUT_MS = 5_000;
const MAX_BYTES_IN_MEMORY = 256 * 1_024 * 1_024;
const MAX_BYTES_ON_DISK = 8 * 1_024 * 1_024 * 1_024;
/** How much rejected messages may take, in addition to the deliveries. */
const LEDGER_SHARE = 0.0625;

/**
 * Starts the server that published client libraries can talk to, and that forwards what they record as signed webhooks.
 *
 * @throws ServerOptionsError or SettingsError when an option is wrong.
 * @throws ServerError or StoreError when the port is taken, or the data directory cannot be used.
 * @example
 * ```ts
 * await using server = await createServer({ to: "http://localhost:3000/webhooks", secret: "dev", port: 0 });
 * const analytics = new Analytics({ writeKey: "any", host: server.url });
 * ```
 */
export async function createServer(options: ServerOptions): Promise<CountersignServer> {
  checkServerOptions(options);
  const { host = "127.0.0.1", port = DEFAULT_PORT, data, token, onError = () => {} } = options;
  const configured = sourcesOf(options);
  const clock = options.clock ?? systemClock();
  if (data !== undefined) makeDirectory(data);
  const book = new SettingsBook(configured, data === undefined ? undefined : join(data, "settings.json"));
  if (book.initial.length === 0) throw new ServerOptionsError(NOWHERE);
  const transport = openTransport(options, clock);
  const sender = await openSender(options, book.initial, clock, transport);
  const undo: (() => unknown)[] = [() => sender.close()];
  try {
    const ledger = new Ledger(
      data === undefined ? ":memory:" : join(data, "server.db"),
      maxBytesOf(options) * LEDGER_SHARE,
    );
    undo.unshift(() => ledger.close());
    const now = (): number => clock.now();
    const events = new LiveEvents(sender, { now, onError });
    const streams = new EventStreams(events.log, now);
    const faults = new FaultList(transport, (change, fault) =>
      events.tell({ event: "fault", change, fault }),
    );
    sender.on("attempt", () => faults.lookForStrikes());
    const room = new StoreRoom(sender, (state) => {
      events.tell({ event: "store", ...state });
      if (state.reason !== undefined) onError(new Error(state.reason));
    });
    const resends = new ResendJobs(sender, now, (job) => events.tell({ event: "resend", job }));
    undo.unshift(() => resends.close());
    const certifications = new Certifications((event) => events.tell(event));
    undo.unshift(() => certifications.close());
    const metrics = createMetrics({ sender, room, now }, { withProcess: options.processMetrics ?? false });
    const context = {
      sender,
      ledger,
      book,
      versions: new SettingsVersions(),
      faults,
      warnings: new WarningList(),
      events,
      streams,
      virtualClock: asVirtual(clock),
      room,
      certifications,
      resends,
      info: infoOf(options, now()),
      now,
    };
    const anyKey = options.to !== undefined && options.writeKey === undefined;
    const maxConnections = options.maxConnections ?? DEFAULT_MAX_CONNECTIONS;
    const { allowHosts, tls } = options;
    const app = createApp({
      context,
      metrics,
      anyKey,
      maxConnections,
      tls,
      token,
      allowHosts,
      onError,
    });
    undo.unshift(() => app.close());
    await listen(app, host, port);
    const url = urlOf(app, host, tls ? "https" : "http");
    return running({ url, app, token, sender, ledger, streams, certifications, resends, events });
  } catch (error) {
    for (const step of undo) await step();
    throw error;
  }
}

function infoOf(
  { data, store, deliver = true, record, retry, blockPrivateNetworks = false }: ServerOptions,
  now: number,
): ServerInfo {
  return {
    version,
    startedAt: iso(now),
    delivers: deliver,
    kept: store !== undefined ? "shared" : data === undefined ? "memory" : "disk",
    budgetMs: ATTEMPT_TIMEOUT_MS,
    retryWindowMs: retry?.windowMs ?? DEFAULT_RETRY_POLICY.windowMs,
    recording: record !== undefined,
    blocksPrivateNetworks: blockPrivateNetworks,
  };
}

/** What carries attempts: faults can be injected into it, and `record` writes down what it sends. */
function openTransport(options: ServerOptions, clock: Clock): FaultyTransport {
  const { record: file, blockPrivateNetworks, onError = () => {} } = options;
  const direct = createTransport({ blockPrivateNetworks });
  const now = (): number => clock.now();
  return faultyTransport(file === undefined ? direct : recordingTransport(direct, { file, now, onError }));
}

async function openSender(
  options: ServerOptions,
  sources: NonNullable<ServerOptions["sources"]>,
  clock: Clock,
  transport: Transport,
): Promise<Sender> {
  const { data, retry, keepFor, deliver } = options;
  const path = data === undefined ? ":memory:" : join(data, "deliveries.db");
  const store = options.store ?? sqliteStore({ path, keepFor, maxBytes: maxBytesOf(options) });
  try {
    return await createSender({
      sources,
      clock,
      retry,
      transport,
      store,
      deliver,
      attemptTimeout: ATTEMPT_TIMEOUT_MS,
    });
  } catch (error) {
    await transport.close();
    // The sender's errors about options start like this. Any other TypeError is a bug in the server.
    const isOption = error instanceof TypeError && error.message.startsWith("createSender(");
    throw isOption ? new ServerOptionsError(error.message) : error;
  }
}

function maxBytesOf({ maxBytes, data }: ServerOptions): number {
  return maxBytes ?? (data === undefined ? MAX_BYTES_IN_MEMORY : MAX_BYTES_ON_DISK);
}

interface Parts {
  readonly url: string;
  readonly app: FastifyInstance;
  readonly token: string | undefined;
  readonly sender: Sender;
  readonly ledger: Ledger;
  readonly streams: EventStreams;
  readonly certifications: Certifications;
  readonly resends: ResendJobs;
  readonly events: LiveEvents;
}

function running({
  url,
  app,
  token,
  sender,
  ledger,
  streams,
  certifications,
  resends,
  events,
}: Parts): CountersignServer {
  let closing: Promise<void> | undefined;

  async function shutDown(deadlineMs: number): Promise<void> {
    const until = Date.now() + deadlineMs;
    const giveUp = setTimeout(() => app.server.closeAllConnections(), deadlineMs);
    streams.close();
    certifications.close();
    resends.close();
    await app.close();
    clearTimeout(giveUp);
    try {
      await sender.close({ deadline: Math.max(until - Date.now(), 0) });
    } finally {
      ledger.close();
    }
  }

  return {
    url,
    sender,
    subscribe: (listener, after) => events.subscribe(listener, after),
    control: (method, path, body) => controlOf(app, token, method, path, body),
    close(options = {}) {
      checkOptionNames("close()", options, CLOSE_OPTIONS);
      return (closing ??= shutDown(options.deadlineMs ?? DEFAULT_DEADLINE_MS));
    },
    [Symbol.asyncDispose]() {
      return this.close();
    },
  };
}

/** A request that takes the same way as those that come in over HTTP, the guard included. */
async function controlOf(
  app: FastifyInstance,
  token: string | undefined,
  method: ControlMethod,
  path: string,
  body: unknown,
): Promise<ControlAnswer> {
  const { statusCode, payload } = await app.inject({
    method,
    url: `/api${path}`,
    headers: { host: "localhost", ...(token !== undefined && { authorization: `Bearer ${token}` }) },
    ...(body !== undefined && { payload: body as object }),
  });
  return { status: statusCode, body: payload === "" ? undefined : (JSON.parse(payload) as unknown) };
}

function makeDirectory(path: string): void {
  try {
    // What is kept there is about people.
    mkdirSync(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new ServerError(
      "ERR_DATA_UNREADABLE",
      `The data directory ${path} cannot be created: ${messageOf(error)}. Give --data another one.`,
      error,
    );
  }
}

async function listen(app: FastifyInstance, host: string, port: number): Promise<void> {
  try {
    await app.listen({ host, port });
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "EADDRINUSE") {
      throw new ServerError(
        "ERR_PORT_TAKEN",
        `Port ${port} on ${host} is already in use. Stop the process that listens there, or choose another port with --port.`,
        error,
      );
    }
    throw new ServerError(
      "ERR_LISTEN",
      `Cannot listen on ${host} port ${port}: ${messageOf(error)}. Choose another address with --host and --port.`,
      error,
    );
  }
}

function urlOf(app: FastifyInstance, host: string, scheme: "http" | "https"): string {
  const address = app.server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return `${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

function asVirtual(clock: Clock): VirtualClock | undefined {
  return "advance" in clock ? (clock as VirtualClock) : undefined;
}
