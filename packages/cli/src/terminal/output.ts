import { writeSync } from "node:fs";

/** Why a stream failed when its reader has gone. On Windows, a pipe that was closed may be called EOF. */
const READER_GONE: ReadonlySet<string | undefined> = new Set(["EPIPE", "EOF"]);

/**
 * Writes lines to a stream of this process, also after an error has destroyed the stream: a disk can have room again.
 * A line that cannot be written is lost.
 */
export function lineWriter(stream: NodeJS.WriteStream, fd: 1 | 2): (line: string) => void {
  let isCutOff = true;
  return (line) => {
    if (!stream.destroyed) {
      stream.write(`${line}\n`);
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
