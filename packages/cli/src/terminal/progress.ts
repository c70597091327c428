import type { Terminal } from "./terminal.ts";

/** Lines of output, with a progress bar below them where there is a terminal. */
export interface Progress {
  /** Moves the bar. */
  update(value: number): void;
  /** Prints a line above the bar. */
  print(line: string): void;
  /** Takes the bar away. Idempotent. */
  stop(): void;
}

/**
 * Shows progress on a terminal, and only lines elsewhere.
 *
 * @param label What is in progress. Without a label, no bar is shown.
 * @param total The value at which it is done.
 */
export async function createProgress(
  { stdout, draws, print }: Terminal,
  label: string | undefined,
  total: number,
): Promise<Progress> {
  if (!draws || label === undefined) return { update: () => {}, print, stop: () => {} };
  // Most runs have no terminal, and do not wait for it to load.
  const { MultiBar } = await import("cli-progress");
  // Of the bars of this library, only those of a group can have lines printed above them.
  const group = new MultiBar({
    stream: stdout,
    format: `${label} {bar} {value}/{total}`,
    barCompleteChar: "█",
    barIncompleteChar: "░",
    barsize: 30,
    clearOnComplete: true,
    // The terminal stays as it is, so that Ctrl-C can end the command at any time.
    hideCursor: false,
    linewrap: true,
    gracefulExit: false,
  });
  const bar = group.create(total, 0);
  let stopped = false;
  return {
    update: (value) => bar.update(value),
    print: (line) => group.log(`${line}\n`),
    stop() {
      if (stopped) return;
      stopped = true;
      // Writes the lines that wait for the next redrawing.
      group.update();
      group.stop();
    },
  };
}
