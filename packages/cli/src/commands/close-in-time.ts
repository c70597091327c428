import { messageOf } from "@countersign/protocol";
import { printable, type Terminal } from "../terminal/terminal.ts";

/**
 * Closes what was told to stop, and returns the exit code. A database that hangs keeps its store from closing: what was accepted is
 * in it, and no fault of this program has to be reported.
 */
export async function closeInTime(close: () => Promise<void>, { complain }: Terminal): Promise<0 | 1> {
  try {
    await close();
    return 0;
  } catch (error) {
    complain(printable(messageOf(error)));
    return 1;
  }
}
