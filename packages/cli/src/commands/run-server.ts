import {
  createServer,
  destinationsWithoutSettings,
  namedDestinations,
  withoutSettingsLine,
  type CountersignServer,
  type LiveEvent,
  type ServerOptions,
} from "@countersign/server";
import { StoreError, type SourceSettings } from "@countersign/sender";
import { virtualClock, type Duration } from "@countersign/protocol";

import { loadConfig } from "../config/load-config.ts";
import { formatEvent } from "./format-event.ts";
import { reachOf, type Reach, type ReceiverFlags } from "./receiver-options.ts";
import { openTls, type ServeTls, type TlsFlags } from "../tls/serve-tls.ts";
import { untilToldToStop } from "../terminal/signals.ts";
import { jsonLine, printable, type Terminal } from "../terminal/terminal.ts";
import { messageOf, UsageError } from "../errors/usage-error.ts";

/** The options of `countersign serve`, as commander reads them. */
export interface ServeFlags extends TlsFlags, ReceiverFlags {
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
  readonly maxBytes?: number;
  readonly keepFor?: Duration;
  readonly record?: string;
  readonly virtualClock?: boolean;
  readonly blockPrivateNetworks?: boolean;
  readonly maxConnections?: number;
  readonly drain: number;
  readonly json?: boolean;
}

/** Runs the server until it is told to stop. Resolves to the exit code. */
export async function serve(flags: ServeFlags, terminal: Terminal): Promise<number> {
  const loaded = await loadConfig(terminal.cwd, flags.config);
  if (loaded?.warning !== undefined) terminal.complain(`countersign: ${printable(loaded.warning)}`);
  const reach = await reachOf(flags, terminal.cwd);
  const options = merged(flags, reach, loaded?.config ?? {});
  const tls = await openTls(flags, options.data, terminal.cwd);
  const stop = untilToldToStop();
  const server = await createServer({
    ...options,
    ...(tls && { tls: tls.tls }),
    processMetrics: true,
    onError: (error) => terminal.complain(`countersign: ${printable(messageOf(error))}`),
  }).catch((error: unknown) => {
    throw inWordsOfFlags(error, options.data);
  });
  await announce(server, options, loaded?.file, flags, terminal, tls?.trust);
  if (tls?.trust && !flags.json) for (const line of trustLines(server.url, tls.trust)) terminal.print(line);
  const report = (event: LiveEvent): void => {
    const line = flags.json ? jsonLine(event) : formatEvent(event, terminal.colors);
    if (line !== undefined) terminal.print(line);
  };
  // From the first event on: deliveries of an earlier run go out as soon as the data directory is open.
  server.subscribe(report, "start");
  const signal = await stop;
  terminal.complain(
    `countersign: ${signal}: waiting for running requests and attempts, for at most ${flags.drain / 1_000} s. A second signal exits at once.`,
  );
  await server.close({ deadlineMs: flags.drain });
  await tls?.dispose?.();
  return 0;
}

/** The store's own message speaks of files, which whoever calls the command has not chosen. */
function inWordsOfFlags(error: unknown, data: string | undefined): unknown {
  if (!(error instanceof StoreError) || error.code !== "ERR_STORE_LOCKED" || data === undefined) return error;
  return new UsageError(
    `The data directory ${data} is in use by another countersign serve. Stop that one, or pass another directory with --data.`,
  );
}

/** What to tell a client of a certificate that nobody trusts yet. */
function trustLines(url: string, { file, fingerprint }: NonNullable<ServeTls["trust"]>): readonly string[] {
  return [
    `Trust       ${file}`,
    `            SHA-256 ${fingerprint}`,
    `  Node.js   NODE_EXTRA_CA_CERTS=${file}`,
    `  others    SSL_CERT_FILE=${file} (PHP and Ruby with OpenSSL, Go); REQUESTS_CA_BUNDLE=${file} (Python)`,
    `  curl      curl --cacert ${file} ${url}/v1/track\n`,
  ];
}

/** Options take precedence over the config file; `--to` replaces all sources of the file. */
function merged(flags: ServeFlags, reach: Reach, { sources, ...config }: ServerOptions): ServerOptions {
  const { to, writeKey, host, port, token, data, maxBytes, keepFor, record } = flags;
  const { blockPrivateNetworks, maxConnections } = flags;
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
    maxConnections,
    clock: flags.virtualClock ? virtualClock(new Date()) : undefined,
  };
  const set = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return { ...config, ...(usesSources && { sources }), ...set };
}

async function announce(
  server: CountersignServer,
  options: ServerOptions,
  configFile: string | undefined,
  { json = false }: ServeFlags,
  { print, colors }: Terminal,
  trust?: ServeTls["trust"],
): Promise<void> {
  const { url } = server;
  const sources = server.sender.settings.sources;
  if (json) {
    print(
      jsonLine({
        event: "listening",
        url,
        data: options.data ?? null,
        config: configFile ?? null,
        ...(trust && { trust }),
        sources: sources.map(({ name }) => name),
      }),
    );
    return;
  }
  print(`${colors.bold("countersign")} listens on ${url}`);
  for (const source of sources) for (const line of routes(source)) print(line);
  for (const destination of await destinationsWithoutSettings(server.sender))
    print(`Waiting     ${printable(withoutSettingsLine(destination))}`);
  print(
    `Kept in     ${options.data === undefined ? "memory; --data DIR keeps deliveries across restarts" : printable(options.data)}`,
  );
  if (options.record !== undefined) print(`Recorded in ${printable(options.record)}`);
  if (configFile !== undefined) print(`Set up by   ${printable(configFile)}`);
  const anyKey = options.to !== undefined && options.writeKey === undefined;
  print(
    `Clients     take ${url} as their host, and ${anyKey ? "any write key" : "the write key of a source"}`,
  );
  print(`Look at     ${url}/ for deliveries, ${url}/api/openapi.json for the control API`);
  const [first] = sources;
  // A given key must not appear in a log.
  const key = first?.writeKey === undefined ? first?.name : "WRITE_KEY";
  const call = { writeKey: anyKey ? "any" : key, userId: "u1", event: "Hello" };
  print(`Try it      curl -d '${jsonLine(call)}' ${url}/v1/track\n`);
}

function routes(source: SourceSettings): readonly string[] {
  return namedDestinations(source).map(({ name, endpoints, secret, enabled = true }) => {
    const urls = endpoints.map(({ url }) => url).join(", ");
    const how = `${secret === undefined ? "not signed" : "signed"}${enabled ? "" : ", disabled"}`;
    return `Forwards    ${printable(`${source.name}/${name} to ${urls}`)} (${how})`;
  });
}
