import { createColors } from "picocolors";
import { UsageError } from "../errors/usage-error.ts";
import { lineWriter } from "./output.ts";

/** The input and output of a command. Only this module prints. */
export interface Terminal {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  readonly cwd: string;
  /** Whether standard output is a terminal that can move its cursor and has colours: one whose TERM is `dumb` shows the codes instead. */
  readonly draws: boolean;
  /** Colours on a terminal, plain text elsewhere and where NO_COLOR is set. */
  readonly colors: ReturnType<typeof createColors>;
  /** Writes a line to standard output. */
  readonly print: (line: string) => void;
  /** Writes a line to standard error, after the name of the command. */
  readonly complain: (text: string) => void;
}

/** The terminal that a process runs in. */
export function terminalOf(host: NodeJS.Process): Terminal {
  const { stdin, stdout, stderr, env } = host;
  const writeError = lineWriter(stderr, 2, {
    onReadAgain: (lost) => complain(`Standard error is read again. Lines that were lost: ${lost}.`),
  });
  const complain = (text: string): void => writeError(`countersign: ${text}`);
  const print = lineWriter(stdout, 1, {
    onBehind: () =>
      complain(
        "Standard output is not read: a mebibyte waits for its reader. The command continues. Lines are lost until all of that is read.",
      ),
    onReadAgain: (lost) => complain(`Standard output is read again. Lines that were lost: ${lost}.`),
    onUnread: (lines) =>
      complain(`Standard output was not read to its end. Lines that were lost: up to ${lines}.`),
  });
  // A stream that is not a terminal has no isTTY property, and picocolors would then guess, for example by CI.
  const draws = "isTTY" in stdout && stdout.isTTY && env["TERM"] !== "dumb";
  return {
    stdin,
    stdout,
    stderr,
    draws,
    get cwd() {
      try {
        return host.cwd();
      } catch {
        throw new UsageError("The working directory does not exist any more. Change to one that does.");
      }
    },
    colors: createColors(draws && !env["NO_COLOR"]),
    print,
    complain,
  };
}

/** Control and format characters, and the line breaks of Unicode. Bidirectional marks are format characters. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** Text of others, made safe for a terminal: control characters could move the cursor or worse. */
export function printable(text: string): string {
  return text.replaceAll(UNPRINTABLE, (character) => {
    const code = (character.codePointAt(0) ?? 0).toString(16);
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, "0")}`;
  });
}

/** The same for a text of several lines, whose breaks remain. */
export function printableLines(text: string): string {
  return text.split("\n").map(printable).join("\n");
}

/**
 * A value as one line of JSON that is safe for a terminal. `JSON.stringify` leaves the C1 controls and bidirectional marks as
 * they are; here they are escaped, which JSON readers undo.
 */
export function jsonLine(value: unknown): string {
  return JSON.stringify(value).replaceAll(UNPRINTABLE, (character) =>
    character
      .split("")
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}
