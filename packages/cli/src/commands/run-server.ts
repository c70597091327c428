import { once } from "node:events";
import { createServer, type CountersignServer } from "@countersign/server";
import { StoreError } from "@countersign/sender";
import type { DeliveryStore } from "@countersign/sender/store";
import { messageOf } from "@countersign/protocol";
import { closeInTime } from "./close-in-time.ts";
import { openSharedStore, placeOf, unlessStopped } from "./shared-store.ts";
import type { ServeFlags, ServeSettings } from "./serve-settings.ts";
import { openTls, type ServeTls } from "../tls/serve-tls.ts";
import { stoppingText, untilToldToStop } from "../terminal/signals.ts";
import { printable, type Terminal } from "../terminal/terminal.ts";
import { withoutRepeats } from "../terminal/without-repeats.ts";
import { hasKeys, listenToKeys } from "../watch/keys.ts";
import { pageUrlOf } from "../watch/start-lines.ts";
import { watchServer } from "../watch/watch-server.ts";
import { UsageError } from "../errors/usage-error.ts";

/** Runs the server until it is asked to stop. Resolves to the exit code. */
export async function serve(flags: ServeFlags, settings: ServeSettings, terminal: Terminal): Promise<number> {
  const { options } = settings;
  const complain = (message: string): void => terminal.complain(printable(message));
  const { store: url } = flags;
  const store = url === undefined ? undefined : await openSharedStore(url, options.keepFor, complain);
  // The address may be in the config file: the certificate must be for it.
  const tls = await openTls({ ...flags, host: options.host }, options.data, terminal.cwd);
  try {
    return await run({ flags, terminal, ...settings, store, tls });
  } finally {
    await tls?.dispose?.();
  }
}

/** What a server is run with. */
interface RunParts extends ServeSettings {
  readonly flags: ServeFlags;
  readonly terminal: Terminal;
  readonly store: DeliveryStore | undefined;
  readonly tls: ServeTls | undefined;
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
