import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const SYSTEM_CALLS =
  "openat,open,creat,write,writev,pwrite64,pwritev,pwritev2,ftruncate,truncate,fsync,fdatasync,rename,renameat,renameat2,unlink,unlinkat";

const SYNCS: ReadonlySet<string> = new Set(["fsync", "fdatasync"]);

/** What a program had acknowledged at some moment, and what a power cut at that moment would have left of a folder. */
export interface PowerCut {
  /** The ids of the lines `accepted <id>` that it had written, the latest last. */
  readonly acknowledged: readonly string[];
  /** The files of the folder, by name, with the bytes that had been synced and no others. */
  readonly files: ReadonlyMap<string, Buffer>;
}

/** What else may happen to a disk. */
export interface DiskTrouble {
  /** Which call of fdatasync fails, of each thread that calls it. */
  readonly failing?: number;
  /** The file that the disk has with all that was written to it, synced or not. There is a cut after each write to it, too. */
  readonly eager?: string;
}

/** Whether strace is here, and may trace. */
export function canTrace(): boolean {
  try {
    execFileSync("strace", ["-o", "/dev/null", "true"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/**
 * Runs a Node program under strace, and works out what a power cut would have left right before each of its answers.
 *
 * The model is the strictest that POSIX allows: of a file there is what the last fsync or fdatasync of it that had ended
 * covered; there is no such file before its folder has been synced, too. What a sync that failed would have covered is never
 * on the disk, unless it is written again.
 *
 * @param args - Arguments of `node`.
 * @param folder - The folder whose files count.
 */
export async function powerCutsOf(
  args: readonly string[],
  folder: string,
  { failing, eager }: DiskTrouble = {},
): Promise<PowerCut[]> {
  const injected = failing === undefined ? [] : ["-e", `inject=fdatasync:error=EIO:when=${failing}`];
  return replay(await trace(args, folder, injected), eager);
}

/** Runs a Node program under strace; returns its system calls on a folder, and its answers. */
async function trace(
  args: readonly string[],
  folder: string,
  options: readonly string[] = [],
): Promise<SystemCall[]> {
  const traces = mkdtempSync(join(tmpdir(), "countersign-trace-"));
  try {
    // A file for each thread, so that no line is cut in two by another thread's.
    const strace = ["-ff", "-ttt", "-T", "-y", "-xx", "-s", "1048576", "-e", `trace=${SYSTEM_CALLS}`];
    const command = [...strace, ...options, "-o", join(traces, "t"), process.execPath, ...args];
    await promisify(execFile)("strace", command, { cwd: import.meta.dirname });
    return readdirSync(traces).flatMap((name) => {
      const lines = readFileSync(join(traces, name), "latin1").split("\n");
      return lines.flatMap((line) => parseLine(line, folder, name));
    });
  } finally {
    rmSync(traces, { recursive: true, force: true });
  }
}

/**
 * Runs a Node program under strace; counts the syncs of each file of a folder that the thread of the event loop waited for, and those
 * of other threads, from the program's first answer to its last.
 */
export async function syncsOf(
  args: readonly string[],
  folder: string,
): Promise<Record<"own" | "others", string[]>> {
  const calls = await trace(args, folder);
  const answers = calls.filter(({ file }) => file === undefined);
  const [first, last] = [answers[0], answers.at(-1)];
  const syncs = calls.filter(
    ({ name, begin }) =>
      SYNCS.has(name) && begin > (first?.begin ?? Number.NaN) && begin < (last?.begin ?? Number.NaN),
  );
  const filesOf = (isOwn: boolean): string[] =>
    syncs.filter(({ thread }) => (thread === first?.thread) === isOwn).map(({ file = "" }) => file);
  return { own: filesOf(true), others: filesOf(false) };
}

/** A system call on a file of the folder, on the folder itself, or an answer. */
interface SystemCall {
  readonly name: string;
  /** The one that called. */
  readonly thread: string;
  readonly hasFailed: boolean;
  /** When it began and ended, in seconds. */
  readonly begin: number;
  readonly end: number;
  /** The file's name; empty for the folder itself; undefined for an answer. */
  readonly file: string | undefined;
  /** The bytes, path and numbers among its arguments, and flags. */
  readonly data: Buffer;
  readonly rest: string;
}

const LINE = /^(\d+\.\d+) (\w+)\((.*)\) += (-?\d+)(?:<[^>]*>)?.* <(\d+\.\d+)>$/s;

function parseLine(line: string, folder: string, thread: string): SystemCall[] {
  const [, begin = "", name = "", args = "", result = "", took = ""] = LINE.exec(line) ?? [];
  const hasFailed = result.startsWith("-");
  if (name === "" || (hasFailed && !SYNCS.has(name))) return [];
  const [descriptorPath = "", quoted = ""] = [/^\d+<([^>]*)>/.exec(args)?.[1], /"([^"]*)"/.exec(args)?.[1]];
  const data = Buffer.from(quoted.replaceAll("\\x", ""), "hex");
  const path = descriptorPath === "" ? data.toString() : decode(descriptorPath);
  const times = { name, thread, hasFailed, begin: Number(begin), end: Number(begin) + Number(took) };
  const rest = args.slice(args.lastIndexOf('"') + 1);
  if (name === "write" && data.toString().startsWith("accepted "))
    return [{ ...times, file: undefined, data, rest }];
  if (path !== folder && !path.startsWith(`${folder}/`)) return [];
  return [{ ...times, file: path.slice(folder.length + 1), data, rest: rest === "" ? args : rest }];
}

function decode(hex: string): string {
  return Buffer.from(hex.replaceAll("\\x", ""), "hex").toString();
}

/** What a program does to a file. */
type Change = { readonly offset: number; readonly data: Buffer } | { readonly length: number };

/** A file as a power cut leaves it, and what is not on the disk yet. */
interface TracedFile {
  synced: Buffer;
  changes: readonly Change[];
  isInFolder: boolean;
}

function changed(content: Buffer, change: Change): Buffer {
  const length =
    "length" in change ? change.length : Math.max(content.length, change.offset + change.data.length);
  const next = Buffer.alloc(length);
  content.copy(next);
  if ("data" in change) change.data.copy(next, change.offset);
  return next;
}

class TracedFolder {
  readonly #files = new Map<string, TracedFile>();

  /** What is left of each file that is there at all; all of one of them. */
  left(whole: string | undefined): Map<string, Buffer> {
    const present = [...this.#files].filter(([, file]) => file.isInFolder);
    return new Map(
      present.map(([name, { synced, changes }]) => [
        name,
        name === whole ? changes.reduce(changed, synced) : synced,
      ]),
    );
  }

  /** A sync begins now; returns what happens when it has ended. */
  beginSync(name: string, hasFailed: boolean): () => void {
    if (name === "") {
      const present = [...this.#files.values()];
      return () => present.forEach((file) => (file.isInFolder = true));
    }
    const file = this.#file(name);
    const covered = new Set(file.changes);
    return () => {
      if (!hasFailed)
        file.synced = file.changes.filter((change) => covered.has(change)).reduce(changed, file.synced);
      file.changes = file.changes.filter((change) => !covered.has(change));
    };
  }

  apply({ name, file = "", data, rest }: SystemCall): void {
    const last = Number(/, (\d+)$/.exec(rest)?.[1]);
    switch (name) {
      case "openat":
      case "open":
        if (rest.includes("O_CREAT")) this.#file(file);
        if (rest.includes("O_TRUNC")) this.#change(file, { length: 0 });
        return;
      case "pwrite64":
        if (!Number.isInteger(last)) throw new Error(`A write to ${file} was traced without its offset.`);
        this.#change(file, { offset: last, data });
        return;
      case "ftruncate":
        this.#change(file, { length: last });
        return;
      case "unlink":
      case "unlinkat":
        this.#files.delete(file);
        return;
      default:
        // Better no proof than one of a model that misses what was written.
        throw new Error(`The model of a disk does not know ${name}, which was called for ${file}.`);
    }
  }

  #file(name: string): TracedFile {
    const file = this.#files.get(name) ?? { synced: Buffer.alloc(0), changes: [], isInFolder: false };
    this.#files.set(name, file);
    return file;
  }

  #change(name: string, change: Change): void {
    const file = this.#file(name);
    file.changes = [...file.changes, change];
  }
}

function replay(calls: readonly SystemCall[], eager: string | undefined): PowerCut[] {
  const folder = new TracedFolder();
  const cuts: PowerCut[] = [];
  let acknowledged: readonly string[] = [];
  const cut = (): void => void cuts.push({ acknowledged, files: folder.left(eager) });
  // What a call does happens when it begins, but for a sync: that counts when it has ended.
  const steps: { readonly at: number; readonly act: () => void }[] = [];
  for (const call of calls) {
    const { name, begin, end, file, data, hasFailed } = call;
    if (file === undefined) {
      const act = (): void => {
        acknowledged = [...acknowledged, data.toString().trim().slice("accepted ".length)];
        cut();
      };
      steps.push({ at: begin, act });
    } else if (SYNCS.has(name)) {
      let endSync = (): void => {};
      steps.push(
        { at: begin, act: () => void (endSync = folder.beginSync(file, hasFailed)) },
        { at: end, act: () => endSync() },
      );
    } else {
      const act = (): void => {
        folder.apply(call);
        if (file === eager) cut();
      };
      steps.push({ at: begin, act });
    }
  }
  for (const { act } of steps.toSorted((one, other) => one.at - other.at)) act();
  return cuts;
}
