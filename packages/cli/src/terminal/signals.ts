/** What asks a process to stop. SIGBREAK is Ctrl-Break on Windows; other systems do not have it. */
const SIGNALS = ["SIGTERM", "SIGINT", "SIGBREAK"] as const;

type StopSignal = (typeof SIGNALS)[number];

/** 128 and the number of the signal, as shells report it. */
const EXIT_CODES: Readonly<Record<StopSignal, number>> = { SIGTERM: 143, SIGINT: 130, SIGBREAK: 149 };

/**
 * Resolves with the name of the first signal that asks the process to stop, or with what `asked` resolves to. The next
 * signal ends the process at once, as if it had not been caught: deliveries on disk that have not ended continue at the next start.
 *
 * @param asked Another way to ask it to stop, such as a key.
 */
export function untilToldToStop(asked?: Promise<string>): Promise<string> {
  return new Promise((resolve) => {
    const stop = (reason: string): void => {
      for (const name of SIGNALS) process.off(name, stop);
      for (const name of SIGNALS) process.on(name, leave);
      resolve(reason);
    };
    for (const name of SIGNALS) process.on(name, stop);
    void asked?.then(stop);
  });
}

function leave(signal: NodeJS.Signals): never {
  process.exit(EXIT_CODES[signal as StopSignal]);
}
