import { systemClock } from "@countersign/protocol";
import type { Sender } from "@countersign/sender";
import { join } from "node:path";
import { Ledger } from "../ledger/ledger.ts";
import { createMetrics } from "../live/metrics.ts";
import { type KeptSettings, SettingsBook, settingsFile } from "../settings/settings-book.ts";
import { answerMeanwhile } from "./answer-meanwhile.ts";
import { checkServerOptions } from "./check-server-options.ts";
import { createApp } from "./create-app.ts";
import { createContext } from "./create-context.ts";
import { listen } from "./listen.ts";
import { makeDirectory, maxBytesOf, openSender, openTransport } from "./open-sender.ts";
import { runningServer } from "./running-server.ts";
import type { CountersignServer } from "./server.ts";
import { DEFAULT_HOST, ServerOptionsError, sourcesOf, type ServerOptions } from "./server-options.ts";

const NOWHERE =
  "No destination is configured. Pass --to URL, for example --to http://localhost:3000/webhooks, or give `to` or `sources` in a countersign.config.json.";
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
  const book = new SettingsBook(configured, placeOfSettings(options));
  if (book.initial.length === 0) throw new ServerOptionsError(NOWHERE);
  const transport = openTransport(options, clock);
  const open = (): Promise<Sender> =>
    openSender(options, book.initial, clock, transport).catch((error: unknown) => {
      throw book.explained(error);
    });
  // Who chooses no port cannot ask before it is known.
  const isAwaited = options.store !== undefined && port !== 0;
  const opening = isAwaited ? answerMeanwhile({ host, port, tls: options.tls }, open) : open();
  const sender = await opening.catch(async (error: unknown) => {
    await undone([() => transport.close()], onError);
    throw error;
  });
  const undo: (() => unknown)[] = [() => sender.close()];
  try {
    const ledger = await Ledger.open(
      data === undefined ? ":memory:" : join(data, "server.db"),
      maxBytesOf(options) * LEDGER_SHARE,
    );
    undo.unshift(() => ledger.close());
    const context = createContext(options, clock, { sender, transport, ledger, book });
    const { allowHosts, tls, maxConnections = DEFAULT_MAX_CONNECTIONS, processMetrics = false } = options;
    const { delivers, budgetMs } = context.info;
    const metrics = createMetrics({ ...context, delivers, budgetMs }, { withProcess: processMetrics });
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

/**
 * Where the sources are kept that the control API manages. A file beside a store that has them would be older, and take their place
 * at every start.
 */
function placeOfSettings({ data, store }: ServerOptions): KeptSettings {
  if (store?.settings !== undefined) return { inStore: true };
  return { path: data === undefined ? undefined : settingsFile(data) };
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
