const SIGNALS = ["SIGTERM", "SIGINT"] as const;

/**
 * Resolves with the name of the first signal that asks the process to stop, or with what `asked` resolves to. The next
 * signal ends the process at once, as if it had not been caught: what is unfinished goes on at the next start, if it is on disk.
 *
 * @param asked Another way to be told to stop, such as a key.
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
  process.exit(signal === "SIGINT" ? 130 : 143);
}
