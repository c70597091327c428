import { type Duration, messageOf } from "@countersign/protocol";
import { createSender, type Sender } from "@countersign/sender";
import type { HealthServer } from "@countersign/server";
import { UsageError } from "../errors/usage-error.ts";
import { stoppingText, untilToldToStop } from "../terminal/signals.ts";
import { jsonLine, printable, type Terminal } from "../terminal/terminal.ts";
import { withoutRepeats } from "../terminal/without-repeats.ts";
import { closeInTime } from "./close-in-time.ts";
import { proxyOf, type ProxyFlags } from "./proxy-options.ts";
import { openSharedStore, placeOf, unlessStopped } from "./shared-store.ts";

/** The options of `countersign work`, as commander reads them. */
export interface WorkFlags extends ProxyFlags {
  readonly store: string;
  readonly keepFor?: Duration;
  readonly drain: number;
  readonly port?: number;
  readonly host?: string;
  readonly token?: string;
  /** Such a token may be for another command. */
  readonly tokenFromEnvironment?: boolean;
  readonly allowHost?: readonly string[];
  readonly json?: boolean;
}

/** Prints one thing that happened: a sentence, or a JSON line. */
type Report = (event: string, sentence: string, fields?: Readonly<Record<string, unknown>>) => void;

/** Delivers until it is asked to stop. Resolves to the exit code. */
export async function work(flags: WorkFlags, terminal: Terminal): Promise<number> {
  checkPortFlags(flags);
  const { store: url, keepFor, blockPrivateNetworks } = flags;
  const proxy = await proxyOf(flags);
  const stop = untilToldToStop();
  const complain = (message: string): void => terminal.complain(printable(message));
  const store = await openSharedStore(url, keepFor, complain);
  const report = reporter(flags, terminal);
  const health = await openHealth(flags, report);
  try {
    const opening = createSender({ sources: "shared", store, blockPrivateNetworks, ...proxy });
    const sender = await unlessStopped(opening, store, stop);
    if (sender === undefined) return 0;
    health?.watch(sender);
    reportStart(sender, placeOf(url), report);
    reportChanges(sender, report);
    const complainOnce = withoutRepeats(complain);
    sender.on("storeError", ({ error }) => complainOnce(messageOf(error)));
    return await closeAfter(stop, sender, flags, terminal);
  } finally {
    await health?.close();
  }
}

/** Once it is told to stop, lets attempts finish. Resolves to the exit code. */
async function closeAfter(
  stop: Promise<string>,
  sender: Sender,
  { drain }: WorkFlags,
  terminal: Terminal,
): Promise<number> {
  const reason = await stop;
  terminal.complain(stoppingText(reason, "waiting for running attempts", drain));
  return closeInTime((deadline) => sender.close({ deadline }), drain, terminal);
}

/** @throws UsageError when a flag is about a port that is not given: it would do nothing */
function checkPortFlags({ port, host, token, tokenFromEnvironment, allowHost = [] }: WorkFlags): void {
  if (port !== undefined) return;
  const flags = [
    host !== undefined && "--host",
    token !== undefined && tokenFromEnvironment !== true && "--token",
    allowHost.length > 0 && "--allow-host",
  ];
  const flag = flags.find((given) => given !== false);
  if (flag !== undefined)
    throw new UsageError(`${flag} is for --port, which is missing. Add --port 9090, or leave ${flag} out.`);
}

/** What answers supervisors, if they have a port. It listens first: nothing is claimed by a process that cannot be asked. */
async function openHealth(
  { port, host, token, allowHost }: WorkFlags,
  report: Report,
): Promise<HealthServer | undefined> {
  if (port === undefined) return undefined;
  const { createHealthServer } = await import("@countersign/server");
  const health = await createHealthServer({ port, host, token, allowHosts: allowHost });
  const { url } = health;
  report("listening", `Answers ${url}/healthz, ${url}/readyz and ${url}/metrics`, { url });
  return health;
}

function reporter({ json = false }: WorkFlags, { print }: Terminal): Report {
  return (event, sentence, fields = {}) => print(json ? jsonLine({ event, ...fields }) : printable(sentence));
}

/** Where it works, and for which sources. */
function reportStart({ settings }: Sender, store: string, report: Report): void {
  const sources = settings.sources.map(({ name }) => name);
  const what = sources.length === 0 ? "no sources yet; a server adds them" : `sources ${sources.join(", ")}`;
  report("working", `Works on the store ${store}: ${what}`, { store, sources });
}

/** What an operator of many processes wants to see of one: changes, not each delivery. */
function reportChanges(sender: Sender, report: Report): void {
  const reportStore = ({ state, reason }: Sender["storeState"]): void =>
    report("store", `The store is ${state}${reason === undefined ? "." : `: ${reason}`}`, { state, reason });
  // What was wrong when the store was opened is no change, as a clock that differs from the database's.
  if (sender.storeState.reason !== undefined) reportStore(sender.storeState);
  sender.on("storeState", reportStore);
  sender.on("failing", ({ destination, endpoint, failures }) =>
    report("failing", `${destination} fails: ${failures} attempts in a row at ${endpoint}`, {
      destination,
      endpoint,
      failures,
    }),
  );
  sender.on("recovered", ({ destination, endpoint }) =>
    report("recovered", `${destination} works again: ${endpoint}`, { destination, endpoint }),
  );
  for (const event of ["failed", "expired"] as const) {
    sender.on(event, ({ delivery: { id, destination, messageId } }) =>
      report(event, `${destination}: delivery ${id} of message ${messageId} has ${event}`, {
        id,
        destination,
        messageId,
      }),
    );
  }
}
