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
 * covered; there is no such file before its folder has been synced, too.
 *
 * @param args - Arguments of `node`.
 * @param folder - The folder whose files count.
 */
export async function powerCutsOf(args: readonly string[], folder: string): Promise<PowerCut[]> {
  return replay(await trace(args, folder));
}

/** Runs a Node program under strace; returns its system calls on a folder, and its answers. */
async function trace(args: readonly string[], folder: string): Promise<SystemCall[]> {
  const traces = mkdtempSync(join(tmpdir(), "countersign-trace-"));
  try {
    // A file for each thread, so that no line is cut in two by another thread's.
    const strace = ["-ff", "-ttt", "-T", "-y", "-xx", "-s", "1048576", "-e", `trace=${SYSTEM_CALLS}`];
    const command = [...strace, "-o", join(traces, "t"), process.execPath, ...args];
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
  if (name === "" || result.startsWith("-")) return [];
  const [descriptorPath = "", quoted = ""] = [/^\d+<([^>]*)>/.exec(args)?.[1], /"([^"]*)"/.exec(args)?.[1]];
  const data = Buffer.from(quoted.replaceAll("\\x", ""), "hex");
  const path = descriptorPath === "" ? data.toString() : decode(descriptorPath);
  const times = { name, thread, begin: Number(begin), end: Number(begin) + Number(took) };
  const rest = args.slice(args.lastIndexOf('"') + 1);
  if (name === "write" && data.toString().startsWith("accepted "))
    return [{ ...times, file: undefined, data, rest }];
  if (path !== folder && !path.startsWith(`${folder}/`)) return [];
  return [{ ...times, file: path.slice(folder.length + 1), data, rest: rest === "" ? args : rest }];
}

function decode(hex: string): string {
  return Buffer.from(hex.replaceAll("\\x", ""), "hex").toString();
}

/** A file as programs see it, and as a power cut leaves it. */
interface TracedFile {
  content: Buffer;
  synced: Buffer | undefined;
  isInFolder: boolean;
}

class TracedFolder {
  readonly #files = new Map<string, TracedFile>();

  /** What is left of each file that is there at all. */
  synced(): Map<string, Buffer> {
    const left = [...this.#files].filter(([, file]) => file.isInFolder);
    return new Map(left.map(([name, { synced }]) => [name, synced ?? Buffer.alloc(0)]));
  }

  /** Takes what will be on the disk when a sync that begins now has ended; returns what makes it so. */
  beginSync(name: string): () => void {
    if (name === "") {
      const present = [...this.#files.values()];
      return () => present.forEach((file) => (file.isInFolder = true));
    }
    const file = this.#file(name);
    const content = Buffer.from(file.content);
    return () => (file.synced = content);
  }

  apply({ name, file = "", data, rest }: SystemCall): void {
    switch (name) {
      case "openat":
      case "open":
        if (rest.includes("O_CREAT") || rest.includes("O_TRUNC")) this.#open(file, rest.includes("O_TRUNC"));
        return;
      case "pwrite64":
        this.#write(file, data, Number(/, (\d+)$/.exec(rest)?.[1]));
        return;
      case "ftruncate":
        this.#resize(file, Number(/, (\d+)$/.exec(rest)?.[1]));
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
    const file = this.#files.get(name) ?? { content: Buffer.alloc(0), synced: undefined, isInFolder: false };
    this.#files.set(name, file);
    return file;
  }

  #open(name: string, isTruncated: boolean): void {
    const file = this.#file(name);
    if (isTruncated) file.content = Buffer.alloc(0);
  }

  #write(name: string, data: Buffer, offset: number): void {
    if (!Number.isInteger(offset)) throw new Error(`A write to ${name} was traced without its offset.`);
    const file = this.#file(name);
    if (file.content.length < offset + data.length) this.#resize(name, offset + data.length);
    data.copy(file.content, offset);
  }

  #resize(name: string, length: number): void {
    const file = this.#file(name);
    const content = Buffer.alloc(length);
    file.content.copy(content);
    file.content = content;
  }
}

function replay(calls: readonly SystemCall[]): PowerCut[] {
  const folder = new TracedFolder();
  const cuts: PowerCut[] = [];
  let acknowledged: readonly string[] = [];
  // What a call does happens when it begins, but for a sync: that counts when it has ended.
  const steps: { readonly at: number; readonly act: () => void }[] = [];
  for (const call of calls) {
    const { name, begin, end, file, data } = call;
    if (file === undefined) {
      const act = (): void => {
        acknowledged = [...acknowledged, data.toString().trim().slice("accepted ".length)];
        cuts.push({ acknowledged, files: folder.synced() });
      };
      steps.push({ at: begin, act });
    } else if (SYNCS.has(name)) {
      let endSync = (): void => {};
      steps.push(
        { at: begin, act: () => void (endSync = folder.beginSync(file)) },
        { at: end, act: () => endSync() },
      );
    } else {
      steps.push({ at: begin, act: () => folder.apply(call) });
    }
  }
  for (const { act } of steps.toSorted((one, other) => one.at - other.at)) act();
  return cuts;
}
