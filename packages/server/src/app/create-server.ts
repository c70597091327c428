import { systemClock, type Clock, type VirtualClock } from "@countersign/protocol";
import { DEFAULT_RETRY_POLICY, type Sender } from "@countersign/sender";
import { join } from "node:path";
import type { ApiContext, ServerInfo } from "../api/operation.ts";
import { Certifications } from "../jobs/certifications.ts";
import { Ledger } from "../ledger/ledger.ts";
import { version } from "../package-files.ts";
import { EventStreams } from "../live/event-stream.ts";
import { FaultList } from "../live/fault-list.ts";
import { tellFollowedSettings } from "../live/followed-settings.ts";
import { LiveEvents } from "../live/live-events.ts";
import { createMetrics } from "../live/metrics.ts";
import { ResendJobs } from "../jobs/resend-jobs.ts";
import { StoreRoom } from "../live/store-room.ts";
import { WarningList } from "../live/warning-list.ts";
import { SettingsBook } from "../settings/settings-book.ts";
import { SettingsVersions } from "../settings/settings-versions.ts";
import { iso } from "../shapes/times.ts";
import { answerMeanwhile } from "./answer-meanwhile.ts";
import { checkServerOptions } from "./check-server-options.ts";
import { createApp } from "./create-app.ts";
import { listen } from "./listen.ts";
import { ATTEMPT_TIMEOUT_MS, makeDirectory, maxBytesOf, openSender, openTransport } from "./open-sender.ts";
import { runningServer } from "./running-server.ts";
import type { CountersignServer } from "./server.ts";
import { DEFAULT_HOST, ServerOptionsError, sourcesOf, type ServerOptions } from "./server-options.ts";

const NOWHERE =
  "No destination is configured. Pass --to URL, for example --to http://localhost:3000/webhooks, or write a countersign.config.json.";
const DEFAULT_PORT = 4010;
const DEFAULT_MAX_CONNECTIONS = 1_000;
/** How much rejected messages may take, in addition to the deliveries. */
const LEDGER_SHARE = 0.0625;

/**
 * Starts the server to which published client libraries send calls, and which forwards these calls as signed
 * webhooks.
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
  const { host = DEFAULT_HOST, port = DEFAULT_PORT, data, token, onError = () => {} } = options;
  const configured = sourcesOf(options);
  const clock = options.clock ?? systemClock();
  if (data !== undefined) makeDirectory(data);
  const book = new SettingsBook(configured, data === undefined ? undefined : join(data, "settings.json"));
  if (book.initial.length === 0) throw new ServerOptionsError(NOWHERE);
  const transport = openTransport(options, clock);
  const open = (): Promise<Sender> => openSender(options, book.initial, clock, transport);
  // Who chooses no port cannot ask before it is known.
  const isAwaited = options.store !== undefined && port !== 0;
  const opening = isAwaited ? answerMeanwhile({ host, port, tls: options.tls }, open) : open();
  const sender = await opening.catch(async (error: unknown) => {
    await undone([() => transport.close()], onError);
    throw error;
  });
  const undo: (() => unknown)[] = [() => sender.close()];
  try {
    const ledger = new Ledger(
      data === undefined ? ":memory:" : join(data, "server.db"),
      maxBytesOf(options) * LEDGER_SHARE,
    );
    undo.unshift(() => ledger.close());
    const now = (): number => clock.now();
    const versions = new SettingsVersions();
    const events = new LiveEvents(sender, { now, onError });
    tellFollowedSettings(sender, events, versions);
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
    const context: ApiContext = {
      sender,
      ledger,
      book,
      versions,
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
    const { allowHosts, tls, maxConnections = DEFAULT_MAX_CONNECTIONS } = options;
    const anyKey = options.to !== undefined && options.writeKey === undefined;
    const app = createApp({ context, metrics, anyKey, maxConnections, tls, token, allowHosts, onError });
    undo.unshift(() => app.close());
    const url = await listen(app, { host, port, scheme: tls ? "https" : "http" });
    return runningServer({ url, app, token, context });
  } catch (error) {
    await undone(undo, onError);
    throw error;
  }
}

/** Takes every step back. What fails in it must hide neither why the server did not start, nor the steps that follow. */
async function undone(undo: readonly (() => unknown)[], onError: (error: unknown) => void): Promise<void> {
  for (const step of undo) {
    try {
      await step();
    } catch (error) {
      onError(error);
    }
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

function asVirtual(clock: Clock): VirtualClock | undefined {
  return "advance" in clock ? (clock as VirtualClock) : undefined;
}
