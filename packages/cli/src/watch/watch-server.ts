import { setTimeout as pause } from "node:timers/promises";
import type { CountersignServer, LiveEvent } from "@countersign/server";
import { wrap } from "../terminal/layout.ts";
import { jsonLine, type Terminal } from "../terminal/terminal.ts";
import { DestinationContexts } from "./destination-contexts.ts";
import { isFailure } from "./is-failure.ts";
import { Reporter } from "./reporter.ts";
import { listensLine, startJson, startLines, type StartInfo } from "./start-lines.ts";
import { forgeryLines, SumsOfEvents, sumsLine } from "./sums.ts";

/** How much is printed of what happens. */
export interface WatchFlags {
  readonly json?: boolean;
  readonly only?: "failed";
  readonly quiet?: boolean;
}

/** The store of a server. */
export interface WatchedStore {
  /** Where deliveries are kept; undefined for in memory. */
  readonly kept: string | undefined;
  /** Whether other processes use it, too. */
  readonly shared: boolean;
  /** Whether this server delivers from it. */
  readonly delivers: boolean;
}

/** The terminal's view of a running server. */
export interface Watch {
  /** Prints what a server says at its start, then what has happened meanwhile. */
  start(info: StartInfo): Promise<void>;
  /** Counts what is waiting. Call it before the server closes, because its store closes, too. */
  countWaiting(): Promise<void>;
  /** Prints the lines that were held back, and the totals. */
  end(): void;
  /** The delivery that failed last, each once. */
  readonly takeLastFailed: () => string | undefined;
}

/** How often the count of what is waiting is repeated, while deliveries end between it and its reading. */
const COUNT_TRIES = 5;

/** How long the store may take to say it: one that hangs must hold up no shutdown. */
const COUNT_WITHIN_MS = 1_000;

/** Prints what happens on a server until it ends: lines for a person, or JSON in the shape of the control API's events. */
export async function watchServer(
  server: CountersignServer,
  { kept, shared, delivers }: WatchedStore,
  { json = false, only, quiet = false }: WatchFlags,
  terminal: Terminal,
): Promise<Watch> {
  const { colors, stdout } = terminal;
  const budgetMs = await budgetOf(server);
  const contexts = new DestinationContexts(server, budgetMs);
  const sums = new SumsOfEvents();
  const columns = (): number | undefined => (stdout.isTTY && stdout.columns > 0 ? stdout.columns : undefined);
  const onlyFailures = only === "failed";
  // The start comes first, and waits for receivers to answer.
  let early: string[] | undefined = [];
  const print = (line: string): void => void (early ? early.push(line) : terminal.print(line));
  const reporter = json
    ? undefined
    : new Reporter({
        print,
        colors,
        columns,
        contextOf: (destination) => contexts.of(destination),
        retryWindowMs: () => server.sender.retryPolicy.windowMs,
        onlyFailures,
        quiet,
        shared,
      });
  // From the first event on: deliveries of an earlier run go out as soon as the data directory is open.
  server.subscribe((event: LiveEvent) => {
    if (event.event === "settings") contexts.forget();
    const context = "delivery" in event ? contexts.of(event.delivery.destination) : {};
    sums.count(event, context);
    if (reporter) reporter.report(event);
    else if (!onlyFailures || isFailure(event, context)) print(jsonLine(event));
  }, "start");
  let waiting: number | undefined;
  let endedAtCount = 0;
  const countPending = async (): Promise<number> => {
    for (let tries = 1; ; tries += 1) {
      endedAtCount = sums.ended;
      const pending = await pendingOf(server);
      if (endedAtCount === sums.ended || tries === COUNT_TRIES) return pending;
    }
  };

  return {
    async start(info) {
      if (json) terminal.print(startJson(info));
      else terminal.print(listensLine(server, colors));
      if (!json && !quiet) for (const line of await startLines(info, terminal)) terminal.print(line);
      for (const line of early ?? []) terminal.print(line);
      early = undefined;
    },
    async countWaiting() {
      const tooLate = pause(COUNT_WITHIN_MS, undefined, { ref: false });
      waiting = await Promise.race([countPending().catch(() => undefined), tooLate]);
    },
    end() {
      reporter?.close();
      const left = waiting === undefined ? undefined : Math.max(waiting - (sums.ended - endedAtCount), 0);
      if (json) {
        terminal.print(
          jsonLine({ event: "summary", ...sums.sums, waiting: left ?? null, kept: kept ?? null }),
        );
        return;
      }
      for (const line of wrap(sumsLine(sums.sums, left, { kept, delivers }), "", columns()))
        terminal.print(line);
      for (const forgery of forgeryLines(sums.sums))
        for (const line of wrap(forgery, "", columns())) terminal.print(colors.bold(colors.red(line)));
    },
    takeLastFailed: () => sums.takeLastFailed(),
  };
}

async function pendingOf({ sender }: CountersignServer): Promise<number> {
  const { destinations } = await sender.stats();
  return destinations.reduce((sum, { pending }) => sum + pending, 0);
}

async function budgetOf(server: CountersignServer): Promise<number> {
  const { body } = await server.control("GET", "/status");
  return (body as { readonly budgetMs: number }).budgetMs;
}
