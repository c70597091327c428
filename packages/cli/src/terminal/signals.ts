const SIGNALS = ["SIGTERM", "SIGINT"] as const;

/**
 * Resolves with the name of the first signal that asks the process to stop. The next one ends the process at once, as
 * if it had not been caught: what is unfinished goes on at the next start, if it is on disk.
 */
export function untilToldToStop(): Promise<string> {
  return new Promise((resolve) => {
    const listen = (signal: NodeJS.Signals): void => {
      for (const name of SIGNALS) process.off(name, listen);
      for (const name of SIGNALS) process.on(name, leave);
      resolve(signal);
    };
    for (const name of SIGNALS) process.on(name, listen);
  });
}

function leave(signal: NodeJS.Signals): never {
  process.exit(signal === "SIGINT" ? 130 : 143);
}
