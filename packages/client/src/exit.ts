/** What can be told that the process is about to end. */
export interface Exiting {
  /** Sends what is left, for as long as the client's `exitTimeout`, and settles everything. The client stays usable. */
  drain(): Promise<unknown>;
  /** Sends what is left, for as long as `exitTimeout`, and gives nothing up. */
  hasten(): Promise<unknown>;
}

/** The part of Node's `process` that is used; Bun and Deno have it too, workerd and browsers do not. */
interface Process {
  readonly pid: number;
  on(event: string, listener: () => void): unknown;
  prependListener(event: string, listener: () => void): unknown;
  off(event: string, listener: () => void): unknown;
  listenerCount(event: string): number;
  kill(pid: number, signal: string): unknown;
}

interface Registry {
  /** Clients with messages that have not ended. */
  readonly busy: Set<Exiting>;
  /** Clients that asked for signals. */
  readonly onSignals: Set<Exiting>;
  onBeforeExit: (() => void) | undefined;
  signalListeners: Map<string, () => void> | undefined;
}

// One for the process, however many copies of this library are loaded: two signal handlers that each leave the exit to
// the other would never exit.
const REGISTRY_KEY = Symbol.for("@countersign/client/exit");

function registry(): Registry {
  const host = globalThis as { [REGISTRY_KEY]?: Registry };
  return (host[REGISTRY_KEY] ??= {
    busy: new Set(),
    onSignals: new Set(),
    onBeforeExit: undefined,
    signalListeners: undefined,
  });
}

function hostProcess(): Process | undefined {
  const { process } = globalThis as { process?: Partial<Process> };
  return typeof process?.on === "function" && typeof process.off === "function"
    ? (process as Process)
    : undefined;
}

/** Says whether a client has messages that have not ended. While one has, a natural exit drains it first. */
export function setBusy(client: Exiting, busy: boolean): void {
  const all = registry();
  if (busy) all.busy.add(client);
  else all.busy.delete(client);

  if (all.busy.size > 0 && !all.onBeforeExit) {
    // Emitted when the event loop is empty, and again when what it started is done.
    all.onBeforeExit = () => {
      for (const each of all.busy) void each.drain();
    };
    hostProcess()?.on("beforeExit", all.onBeforeExit);
  } else if (all.busy.size === 0 && all.onBeforeExit) {
    hostProcess()?.off("beforeExit", all.onBeforeExit);
    all.onBeforeExit = undefined;
  }
}

/** Says whether SIGTERM and SIGINT drain a client before they end the process. */
export function setOnSignals(client: Exiting, wanted: boolean): void {
  const all = registry();
  if (wanted) all.onSignals.add(client);
  else all.onSignals.delete(client);

  const process = hostProcess();
  if (!process) return;
  if (all.onSignals.size > 0 && !all.signalListeners) {
    all.signalListeners = new Map(
      ["SIGTERM", "SIGINT"].map((signal) => [signal, createListener(process, signal)]),
    );
    // Prepended, to see the application's listeners: one added with once() is gone when it has run.
    for (const [signal, listener] of all.signalListeners) process.prependListener(signal, listener);
  } else if (all.onSignals.size === 0 && all.signalListeners) {
    for (const [signal, listener] of all.signalListeners) process.off(signal, listener);
    all.signalListeners = undefined;
  }
}

function createListener(process: Process, signal: string): () => void {
  let received = false;
  const end = (): void => {
    received = false;
    process.off(signal, listener);
    process.kill(process.pid, signal);
  };
  const listener = (): void => {
    const clients = new Set([...registry().onSignals, ...registry().busy]);
    // An application that listens too ends the process itself, when it has done what it has to do.
    if (process.listenerCount(signal) > 1) {
      for (const client of clients) void client.hasten();
      return;
    }
    // Somebody insists.
    if (received) return end();
    received = true;
    void Promise.allSettled([...clients].map((client) => client.drain())).then(end);
  };
  return listener;
}

/**
 * Keeps the process running while someone awaits something that only the client's timers would continue.
 *
 * @returns Ends it.
 */
export function keepAlive(): () => void {
  // The longest interval there is; it never fires in practice and does nothing if it does.
  const timer = setInterval(() => {}, 2_147_483_647);
  return () => clearInterval(timer);
}
