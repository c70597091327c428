import { SingleBar } from "cli-progress";
import type { Terminal } from "./terminal.ts";

/** A progress bar, or nothing at all where there is no terminal. */
export interface Progress {
  update(value: number): void;
  /** Prints something above the bar. */
  interrupt(print: () => void): void;
  /** Idempotent. */
  stop(): void;
}

const silent: Progress = {
  update: () => {},
  interrupt: (print) => print(),
  stop: () => {},
};

/**
 * Shows progress on a terminal.
 *
 * @param label What is going on; without one nothing is shown.
 */
export function createProgress({ stdout }: Terminal, label: string | undefined, total: number): Progress {
  if (!stdout.isTTY || label === undefined) return silent;
  const bar = new SingleBar({
    stream: stdout,
    format: `${label} {bar} {value}/{total}`,
    barCompleteChar: "█",
    barIncompleteChar: "░",
    barsize: 30,
    hideCursor: null,
    clearOnComplete: true,
    linewrap: null,
  });
  bar.start(total, 0);
  return {
    update: (value) => bar.update(value),
    interrupt(print) {
      // Back to the start of the bar's line, and clear it; the next update draws the bar again below.
      stdout.write("\r\u001B[K");
      print();
      bar.render();
    },
    stop: () => bar.stop(),
  };
}
