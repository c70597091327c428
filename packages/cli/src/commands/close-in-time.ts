import { messageOf } from "@countersign/protocol";
import { CloseError } from "@countersign/sender";
import { printable, type Terminal } from "../terminal/terminal.ts";

/**
 * Closes what was told to stop within so many milliseconds, and returns the exit code. A database that hangs keeps its store from
 * closing: what was accepted is in it, and no fault of this program has to be reported.
 */
export async function closeInTime(
  close: (deadlineMs: number) => Promise<void>,
  drainMs: number,
  { complain }: Terminal,
): Promise<0 | 1> {
  try {
    await close(drainMs);
    return 0;
  } catch (error) {
    complain(printable(inWordsOfTheCommand(error, drainMs)));
    return 1;
  }
}

/** The library speaks of its method and of its deadline, which the caller of the command has not given. */
function inWordsOfTheCommand(error: unknown, drainMs: number): string {
  if (!(error instanceof CloseError)) return messageOf(error);
  const { code, part, cause } = error;
  if (code === "ERR_CLOSE_FAILED") return `The ${part} could not be closed: ${String(cause)}`;
  const kept =
    part === "store" ? " What was accepted is kept in it, and what has not ended is delivered later." : "";
  return `The ${part} did not close within the ${drainMs / 1_000} s of --drain.${kept}`;
}
