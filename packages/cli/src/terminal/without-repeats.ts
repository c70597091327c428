const MINUTE_MS = 60_000;
/** Different texts that are remembered. More are printed as they come. */
const MAX_TEXTS = 100;

interface Timers {
  readonly setTimeout: (run: () => void, ms: number) => { unref(): unknown };
}

/**
 * Prints a text at once, and when it comes again within a minute only how often it did, once a minute. In an outage, each refused
 * call complains with the same words; the log must not grow with the traffic.
 *
 * @param clock Replaces the timers in tests.
 */
export function withoutRepeats(
  print: (text: string) => void,
  { setTimeout: later }: Timers = { setTimeout: (run, ms) => setTimeout(run, ms) },
): (text: string) => void {
  const repeats = new Map<string, number>();
  const count = (text: string): void => {
    repeats.set(text, 0);
    later(() => sum(text), MINUTE_MS).unref();
  };
  const sum = (text: string): void => {
    const times = repeats.get(text) ?? 0;
    repeats.delete(text);
    if (times === 0) return;
    print(`${text} (${times} more in the last minute)`);
    count(text);
  };
  return (text) => {
    const times = repeats.get(text);
    if (times !== undefined) {
      repeats.set(text, times + 1);
      return;
    }
    print(text);
    if (repeats.size < MAX_TEXTS) count(text);
  };
}
