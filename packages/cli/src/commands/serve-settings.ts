import type { ServerOptions } from "@countersign/server";
import { type Duration, virtualClock } from "@countersign/protocol";
import { loadConfig } from "../config/load-config.ts";
import type { ProxyFlags } from "./proxy-options.ts";
import { reachOf, type Reach, type ReceiverFlags } from "./receiver-options.ts";
import type { TlsFlags } from "../tls/serve-tls.ts";
import { printable, type Terminal } from "../terminal/terminal.ts";
import type { WatchFlags } from "../watch/watch-server.ts";
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

/** What a server is started with. */
export interface ServeSettings {
  readonly options: ServerOptions;
  /** The config file that some of them are from. */
  readonly configFile: string | undefined;
}

/**
 * The settings of the options and of the config file.
 *
 * @throws UsageError, ConfigError when one is wrong, or they do not go together
 */
export async function serveSettings(flags: ServeFlags, terminal: Terminal): Promise<ServeSettings> {
  const loaded = await loadConfig(terminal.cwd, flags.config);
  if (loaded?.warning !== undefined) terminal.complain(printable(loaded.warning));
  const reach = await reachOf(flags, terminal.cwd);
  checkStoreFlags(flags);
  const given = merged(flags, reach, loaded?.config ?? {});
  // The store takes precedence over a directory of the config file or of the environment, and over what limits one.
  const { data: _, maxBytes: __, ...withoutFiles } = given;
  return { options: flags.store === undefined ? given : withoutFiles, configFile: loaded?.file };
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
