/**
 * The signals that ask a process to stop, and the exit code of one that ends it: 128 and the number of the signal, as shells report
 * it. SIGHUP says that the terminal was closed. That it was ignored, as under `nohup`, is not known here: Node takes it back.
 */
const SIGNALS = { SIGTERM: 143, SIGINT: 130, SIGHUP: 129 } as const;

/** Ctrl-Break. After SIGHUP, Windows ends the process within some seconds, whatever it does. */
const SIGNALS_OF_WINDOWS = { ...SIGNALS, SIGBREAK: 149 } as const;

/** The signals that a system sends to ask a process to stop. */
function stopSignals(platform: NodeJS.Platform): readonly string[] {
  return Object.keys(platform === "win32" ? SIGNALS_OF_WINDOWS : SIGNALS);
}

function leave(signal: keyof typeof SIGNALS_OF_WINDOWS): never {
  return process.exit(SIGNALS_OF_WINDOWS[signal]);
}

function goOn(): void {}

function leaveAtTheNext(names: readonly string[]): void {
  for (const name of names) if (name !== "SIGHUP") process.on(name, leave);
}

/**
 * Makes the signals that ask a process to stop end it, until a command takes them over. The system has no default for the first
 * process of a container: without a listener, neither Ctrl-C nor `docker stop` would end it.
 */
export function heedSignals(pid: number = process.pid): void {
  if (pid !== 1) return;
  for (const name of stopSignals(process.platform)) process.on(name, leave);
}

/**
 * How long further signals are taken for the first one, in milliseconds; `flushOnSignals` of the client has the same rule. One Ctrl-C may
 * come up to four times, since the terminal sends it to each process, and concurrently, nodemon and `node --watch` pass it on: within
 * 60 ms, when it was measured. systemd sends SIGHUP and SIGTERM. Nobody insists as quickly.
 */
const SAME_SIGNAL_MS = 250;

let isRunning = false;
let isPatient = true;

/** Whether this command serves or works until a signal stops it. */
export function runsUntilToldToStop(): boolean {
  return isRunning;
}

/**
 * Whether this command keeps each of its lines, and ends when they are written: it has an end of its own, and was not told to stop
 * before. Others wait for no reader.
 */
export function waitsForReader(): boolean {
  return isPatient;
}

let toldToEndEarly: Promise<string> | undefined;

/** The same as {@link untilToldToStop}, for a command that has an end of its own, such as an import. It may be asked again. */
export function untilToldToEndEarly(): Promise<string> {
  isRunning = true;
  toldToEndEarly ??= untilSignal().then((signal) => {
    isPatient = false;
    return signal;
  });
  return toldToEndEarly;
}

/**
 * Resolves with the name of the first signal that asks the process to stop, or with what `asked` resolves to. A later
 * signal ends the process at once, as if it had not been caught: deliveries on disk that have not ended continue at the next start.
 * Not SIGHUP: nobody who is impatient sends it, but a shell and its terminal may both do so.
 *
 * @param asked Another way to ask it to stop, such as a key.
 */
export function untilToldToStop(asked?: Promise<string>, platform?: NodeJS.Platform): Promise<string> {
  isRunning = true;
  isPatient = false;
  return untilSignal(asked, platform);
}

function untilSignal(asked?: Promise<string>, platform: NodeJS.Platform = process.platform): Promise<string> {
  const names = stopSignals(platform);
  return new Promise((resolve) => {
    const stop = (reason: string): void => {
      for (const name of names) process.on(name, goOn).off(name, told);
      resolve(reason);
    };
    const told = (signal: string): void => {
      stop(signal);
      // Not before the signals have been read that came while this process was busy: a timer is first.
      setTimeout(() => setImmediate(leaveAtTheNext, names), SAME_SIGNAL_MS).unref();
    };
    for (const name of names) process.on(name, told).off(name, leave);
    void asked?.then(stop).then(() => leaveAtTheNext(names));
  });
}

/**
 * What a command says when it is told to stop.
 *
 * @param reason The signal, or what else told it.
 * @param work What it still does.
 * @param deadlineMs How long that may take, in milliseconds.
 */
export function stoppingText(reason: string, work: string, deadlineMs: number): string {
  return `${reason}: ${work}, for at most ${deadlineMs / 1_000} s. A second signal exits at once.`;
}

/**
 * Calls `tidy` when the process ends, also when a signal asks it to stop: by default, the system ends it without calling anything.
 *
 * @returns a function that takes it back
 */
export function tidyAtExit(tidy: () => void): () => void {
  const names = stopSignals(process.platform);
  process.on("exit", tidy);
  for (const name of names) process.on(name, leave);
  return () => {
    process.off("exit", tidy);
    for (const name of names) process.off(name, leave);
  };
}
