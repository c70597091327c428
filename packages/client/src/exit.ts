import { LONGEST_TIMER_MS } from "@countersign/protocol";

/** An object that is notified when the process is about to end. */
export interface Exiting {
  /** Sends the remaining messages, for at most the client's `exitTimeout`, and settles everything. The client stays usable. */
  drain(): Promise<unknown>;
  /** Sends the remaining messages, for at most `exitTimeout`, and drops none. */
  hasten(): Promise<unknown>;
  /** Drops the remaining messages: there is no time left to send them. */
  drop(): unknown;
}

/** The part of Node's `process` that is used; Bun and Deno have it too, workerd and browsers do not. */
interface Process {
  readonly pid: number;
  /** True from the moment in which `exit` is emitted. */
  readonly _exiting: boolean;
  prependListener(event: string, listener: () => void): unknown;
  off(event: string, listener: () => void): unknown;
  listenerCount(event: string): number;
  kill(pid: number, signal: string): unknown;
  exit(): never;
  /** Whether another process of Node has started this one, and is connected to it. */
  readonly connected: boolean;
  getBuiltinModule(name: "node:cluster"): { readonly worker?: ClusterWorker } | undefined;
}

/** This process, as a worker of `node:cluster`. */
interface ClusterWorker {
  /** Unless this is true, Node ends a worker at once when its primary process has ended. */
  exitedAfterDisconnect?: boolean;
}

/** Clients, and what the process is listened to for while there are any. */
interface Group {
  readonly clients: Set<Exiting>;
  readonly listeners: Readonly<Record<string, () => void>>;
}

interface Registry {
  /** Clients with messages that have not ended. While there is one, a natural exit drains it first. */
  readonly busy: Group;
  /** Clients that are drained before SIGTERM, SIGINT, or the end of a cluster's primary process end this one. */
  readonly signals: Group;
}

interface Host {
  readonly process?: Partial<Process>;
  [REGISTRY_KEY]?: Registry;
}

// One for the process, however many copies of this library are loaded: two signal handlers that each leave the exit to
// the other would never exit.
const REGISTRY_KEY = Symbol.for("@countersign/client/exit");

const host: Host = globalThis;

/** Adds a client to a group, or removes it. */
export function enroll(name: keyof Registry, client: Exiting, member: boolean): void {
  const { clients, listeners } = (host[REGISTRY_KEY] ??= createRegistry())[name];
  if (clients.has(client) === member) return;
  if (member) clients.add(client);
  else clients.delete(client);
  for (const [event, listener] of Object.entries(listeners)) {
    // Prepended, to see the application's listeners: one added with once() is gone when it has run.
    if (clients.size === 0) host.process?.off?.(event, listener);
    else if (member && clients.size === 1) host.process?.prependListener?.(event, listener);
  }
  // An exit handler of the application recorded it. The listener above may have run, and is not called again.
  if (member && host.process?._exiting) client.drop();
}

function createRegistry(): Registry {
  const busy = new Set<Exiting>();
  const callAll = (method: keyof Exiting): Promise<unknown> => {
    return Promise.allSettled([...busy].map((client) => client[method]()));
  };
  /** When the first signal came; 0 before. */
  let received = 0;
  const onSignal = (signal: "SIGTERM" | "SIGINT"): void => {
    // Only a process sends signals.
    const process = host.process as Process;
    const leave = (): unknown => process.off(signal, listeners[signal]);
    // An application that listens too ends the process itself, when it has done what it has to do. A library that leaves that to
    // others, as signal-exit does, does it at the next signal: it is alone then.
    if (process.listenerCount(signal) > 1) {
      void callAll("hasten").then(leave);
      return;
    }
    const end = (): void => {
      received = 0;
      leave();
      void callAll("drop");
      process.kill(process.pid, signal);
      // The first process of a container gets no signal that it does not listen to.
      if (process.pid === 1) process.exit();
    };
    const now = performance.now();
    // Somebody insists. What comes sooner is passed on by a program that shares the terminal, as tsx and nodemon do.
    if (received) return now - received > 250 ? end() : undefined;
    received = now;
    // Again: what a hook gives to another client as it is dropped is that one's to send.
    void callAll("drain")
      .then(() => callAll("drain"))
      .then(end);
  };
  const { process } = host;
  const worker = process?.connected && process.getBuiltinModule?.("node:cluster")?.worker;
  const listeners = {
    SIGTERM: () => onSignal("SIGTERM"),
    SIGINT: () => onSignal("SIGINT"),
    // Node keeps a process running that listens to this; a worker it keeps anyway. The primary ends at once by a signal that its workers
    // get, too, as by Ctrl-C, and they may read its end before the signal.
    ...(worker && {
      disconnect: () => {
        if (worker.exitedAfterDisconnect) return;
        worker.exitedAfterDisconnect = true;
        void callAll("drain").then(() => process.exit?.());
      },
    }),
  };
  return {
    busy: {
      clients: busy,
      listeners: {
        // Emitted when the event loop is empty, and again when what it started is done.
        beforeExit: () => void callAll("drain"),
        // Also after process.exit() and an uncaught exception, when nothing can be sent any more.
        exit: () => void callAll("drop"),
      },
    },
    signals: { clients: new Set(), listeners },
  };
}

/**
 * Keeps the process running while someone awaits something that only the client's timers would continue.
 *
 * @returns Ends it.
 */
export function keepAlive(): () => void {
  // The longest interval there is; it never fires in practice and does nothing if it does.
  const timer = setInterval(() => {}, LONGEST_TIMER_MS);
  return () => clearInterval(timer);
}
