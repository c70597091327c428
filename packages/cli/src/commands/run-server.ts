import { once } from "node:events";
import { createServer, type CountersignServer, type ServerOptions } from "@countersign/server";
import { StoreError } from "@countersign/sender";
import type { DeliveryStore } from "@countersign/sender/store";
import { type Duration, messageOf, virtualClock } from "@countersign/protocol";
import { loadConfig } from "../config/load-config.ts";
import type { ProxyFlags } from "./proxy-options.ts";
import { reachOf, type Reach, type ReceiverFlags } from "./receiver-options.ts";
import { closeInTime } from "./close-in-time.ts";
import { openSharedStore, placeOf, unlessStopped } from "./shared-store.ts";
import { openTls, type ServeTls, type TlsFlags } from "../tls/serve-tls.ts";
import { stoppingText, untilToldToStop } from "../terminal/signals.ts";
import { printable, type Terminal } from "../terminal/terminal.ts";
import { withoutRepeats } from "../terminal/without-repeats.ts";
import { hasKeys, listenToKeys } from "../watch/keys.ts";
import { pageUrlOf } from "../watch/start-lines.ts";
import { watchServer, type WatchFlags } from "../watch/watch-server.ts";
import { UsageError } from "../errors/usage-error.ts";

/** The options of `countersign serve`, as commander reads them. */
export interface ServeFlags extends TlsFlags, ReceiverFlags, ProxyFlags, WatchFlags {
  readonly to?: readonly string[];
  readonly secret?: string;
  /** Such a secret does not conflict with a config file whose sources have their own. */
  readonly secretFromEnvironment?: boolean;
  readonly writeKey?: string;
  readonly config?: string;
  readonly port?: number;
  readonly token?: string;
  readonly allowHost?: readonly string[];
  readonly data?: string;
  /** Such a directory does not conflict with a store: images set it. */
  readonly dataFromEnvironment?: boolean;
  readonly store?: string;
  readonly deliver?: boolean;
  readonly maxBytes?: number;
  readonly keepFor?: Duration;
  readonly record?: string;
  readonly virtualClock?: boolean;
  readonly maxConnections?: number;
  readonly drain: number;
}

/** @throws UsageError when flags say two places, or none that others share */
function checkStoreFlags({ store, data, dataFromEnvironment, maxBytes, deliver }: ServeFlags): void {
  if (deliver === false && store === undefined) {
    throw new UsageError("--no-deliver needs --store, which the processes that deliver share.");
  }
  if (store === undefined) return;
  if (data !== undefined && dataFromEnvironment !== true) {
    throw new UsageError("--data and --store are two places for deliveries. Give one of them.");
  }
  if (maxBytes !== undefined)
    throw new UsageError("--max-bytes limits --data. With --store, the database manages its disk.");
}

/** Runs the server until it is asked to stop. Resolves to the exit code. */
export async function serve(flags: ServeFlags, terminal: Terminal): Promise<number> {
  const loaded = await loadConfig(terminal.cwd, flags.config);
  if (loaded?.warning !== undefined) terminal.complain(printable(loaded.warning));
  const reach = await reachOf(flags, terminal.cwd);
  checkStoreFlags(flags);
  const given = merged(flags, reach, loaded?.config ?? {});
  // The store takes precedence over a directory of the config file or of the environment, and over what limits one.
  const { data: _, maxBytes: __, ...withoutFiles } = given;
  const options: ServerOptions = flags.store === undefined ? given : withoutFiles;
  const complain = (message: string): void => terminal.complain(printable(message));
  const { store: url } = flags;
  const store = url === undefined ? undefined : await openSharedStore(url, options.keepFor, complain);
  // The address may be in the config file: the certificate must be for it.
  const tls = await openTls({ ...flags, host: options.host }, options.data, terminal.cwd);
  try {
    return await run({ flags, terminal, options, store, tls, configFile: loaded?.file });
  } finally {
    await tls?.dispose?.();
  }
}

/** What a server is run with. */
interface RunParts {
  readonly flags: ServeFlags;
  readonly terminal: Terminal;
  readonly options: ServerOptions;
  readonly store: DeliveryStore | undefined;
  readonly tls: ServeTls | undefined;
  readonly configFile: string | undefined;
}

async function run(parts: RunParts): Promise<number> {
  const { flags, terminal, options, store, tls } = parts;
  const complainOnce = withoutRepeats((message) => terminal.complain(printable(message)));
  const showsEvents = flags.json === true || flags.quiet !== true;
  const quitting = new AbortController();
  const stop = untilToldToStop(once(quitting.signal, "abort").then(() => "q"));
  const opening = createServer({
    ...options,
    ...(store && { store, deliver: flags.deliver }),
    ...(tls && { tls: tls.tls }),
    processMetrics: true,
    onError: (error) => {
      if (!showsEvents || !isEvent(error)) complainOnce(messageOf(error));
    },
  }).catch((error: unknown) => {
    throw inWordsOfFlags(error, options.data);
  });
  const server = await unlessStopped(opening, store, stop);
  if (server === undefined) return 0;
  try {
    return await attend(server, parts, { stop, quit: () => quitting.abort() });
  } finally {
    // Also after an error, as of a store that has gone: a server that nobody attends to would keep its port, and heed no signal.
    await server.close({ deadlineMs: flags.drain }).catch(() => {});
  }
}

/** How a server is told to stop. */
interface Stopping {
  readonly stop: Promise<string>;
  readonly quit: () => void;
}

/** Shows what a server does, until it is told to stop and has stopped. Resolves to the exit code. */
async function attend(server: CountersignServer, parts: RunParts, { stop, quit }: Stopping): Promise<number> {
  const { flags, terminal, options, store, tls, configFile } = parts;
  const kept = flags.store === undefined ? options.data : placeOf(flags.store);
  const delivers = flags.deliver !== false;
  const watch = await watchServer(server, { kept, shared: store !== undefined, delivers }, flags, terminal);
  const keys = flags.json !== true && hasKeys(terminal);
  const told = { ...options, deliver: flags.deliver };
  await watch.start({ server, options: told, kept, configFile, trust: tls?.trust, keys });
  const pageUrl = pageUrlOf(server.url, options.token);
  const { takeLastFailed } = watch;
  const stopKeys = keys ? listenToKeys({ terminal, server, pageUrl, takeLastFailed, quit }) : undefined;
  const reason = await stop;
  // A terminal has shown ^C on this line.
  if (reason === "SIGINT" && terminal.stderr.isTTY) terminal.stderr.write("\n");
  terminal.complain(stoppingText(reason, "waiting for running requests and attempts", flags.drain));
  stopKeys?.();
  await watch.countWaiting();
  const code = await closeInTime((deadlineMs) => server.close({ deadlineMs }), flags.drain, terminal);
  watch.end();
  return code;
}

/** Whether an event tells the same, which is how the store is. */
function isEvent(error: unknown): boolean {
  const cause: unknown = error instanceof Error ? error.cause : undefined;
  return typeof cause === "object" && cause !== null && "event" in cause;
}

/** The store's own message speaks of files, which the caller of the command has not chosen. */
function inWordsOfFlags(error: unknown, data: string | undefined): unknown {
  if (!(error instanceof StoreError) || error.code !== "ERR_STORE_LOCKED" || data === undefined) return error;
  return new UsageError(
    `The data directory ${data} is in use by another countersign serve. Stop that one, or pass another directory with --data.`,
  );
}

/** Options take precedence over the config file; `--to` replaces all sources of the file. */
function merged(flags: ServeFlags, reach: Reach, { sources, ...config }: ServerOptions): ServerOptions {
  const { to, writeKey, host, port, token, data, maxBytes, keepFor, record } = flags;
  const { blockPrivateNetworks, proxy, noproxy, maxConnections } = flags;
  const usesSources = to === undefined && sources !== undefined;
  const given: ServerOptions = {
    to,
    // A variable that was set for another command does not apply to sources with their own secrets.
    secret: (to ?? config.to) === undefined && flags.secretFromEnvironment ? undefined : flags.secret,
    ...reach,
    concurrency: flags.concurrency,
    writeKey,
    host,
    port,
    token,
    allowHosts: flags.allowHost,
    data,
    maxBytes,
    keepFor,
    record,
    blockPrivateNetworks,
    proxy,
    noProxy: noproxy,
    maxConnections,
    clock: flags.virtualClock ? virtualClock(new Date()) : undefined,
  };
  const set = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return { ...config, ...(usesSources && { sources }), ...set };
}
