import { writeSync } from "node:fs";
import { waitsForReader } from "./signals.ts";

/** Why a stream failed when its reader has gone. On Windows, a pipe that was closed may be called EOF. */
const READER_GONE: ReadonlySet<string | undefined> = new Set(["EPIPE", "EOF"]);

/** How many bytes wait in this process for a reader that is slow. */
const MAX_WAITING_BYTES = 1_048_576;

/** What happens when the reader of a stream is too slow. */
export interface SlowReaderOptions {
  /** Called when the first line is lost. */
  readonly onBehind?: () => void;
  /** Called when all that waited has been read, with the number of lines that were lost. */
  readonly onReadAgain?: (lost: number) => void;
  /** Called when the process ends before its lines are read, with how many that may be: some may have gone into the pipe. */
  readonly onUnread?: (lines: number) => void;
}

/**
 * Writes lines to a stream of this process, also after an error has destroyed the stream: a disk can have room again.
 * A line that cannot be written is lost.
 */
export function lineWriter(
  stream: NodeJS.WriteStream,
  fd: 1 | 2,
  { onBehind, onReadAgain, onUnread }: SlowReaderOptions = {},
): (line: string) => void {
  let isCutOff = true;
  let lost = 0;
  let waiting = 0;
  const written = (): void => void (waiting -= 1);
  const tellUnread = (): void => {
    if (stream.writableLength > 0) onUnread?.(lost + waiting);
  };
  let isWatched = false;
  const readAgain = (): void => {
    const lines = lost;
    lost = 0;
    onReadAgain?.(lines);
  };
  return (line) => {
    if (!stream.destroyed) {
      // Lines are lost rather than kept where a command runs for as long as a system does: its memory has a limit.
      const mayLose = !waitsForReader();
      if (mayLose) doNotWaitFor(stream);
      if (lost === 0 && (stream.writableLength < MAX_WAITING_BYTES || !mayLose)) {
        waiting += 1;
        stream.write(`${line}\n`, written);
        if (isWatched || onUnread === undefined || stream.writableLength === 0) return;
        isWatched = true;
        process.once("exit", tellUnread);
        return;
      }
      lost += 1;
      if (lost > 1) return;
      stream.once("drain", readAgain);
      onBehind?.();
      return;
    }
    const bytes = Buffer.from(`${isCutOff ? "\n" : ""}${line}\n`);
    try {
      isCutOff = writeSync(fd, bytes) < bytes.length;
    } catch {
      isCutOff = true;
    }
  };
}

/** A stream of Node, as far as it is known. */
interface InnerStream {
  readonly _handle?: { readonly fd?: number; setBlocking?(isBlocking: boolean): unknown } | null;
}

/**
 * Node waits for each write to a terminal, and the process with it: for as long as the terminal is held with Ctrl-S, or the connection
 * that it belongs to is stuck. Only where Node has opened the terminal anew: else it would not wait for the other programs there, either.
 * Outside of Windows, it does not wait for a pipe, until another process of Node that has the same pipe ends: that one puts back how
 * the pipe was before. So this is said again before each line; what waits already may wait for the reader once.
 */
function doNotWaitFor(stream: NodeJS.WriteStream): void {
  const { _handle: handle } = stream as InnerStream;
  const mayBeTold = stream.isTTY ? (handle?.fd ?? 0) > 2 : process.platform !== "win32";
  if (mayBeTold) handle?.setBlocking?.(false);
}

/**
 * Decides what happens when output cannot be written. A reader that wants no more, as `head`, ends no command: what it does, its
 * report and its exit code do not depend on who reads its lines. A disk that is full ends a command, unless it serves others or
 * finishes work: a log is not worth what it does.
 *
 * @param continues Whether the command is one that serves others, or finishes work.
 */
export function survivesLostOutput(host: NodeJS.Process, continues: () => boolean): void {
  const { stdout, stderr } = host;
  const complain = lineWriter(stderr, 2);
  let isTold = false;
  stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (READER_GONE.has(error.code) && !continues()) return;
    if (isTold) return;
    isTold = true;
    const rest = continues() ? " The command continues. Lines are lost until it can be written again." : "";
    complain(`countersign: Standard output cannot be written: ${error.message}.${rest}`);
    if (!continues()) host.exit(2);
  });
  // There is nowhere else to complain. The exit code still tells how the command ended.
  stderr.on("error", () => {});
}
