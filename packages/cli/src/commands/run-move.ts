import { closeSync, existsSync, openSync, readSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { messageOf } from "@countersign/protocol";
import {
  createSender,
  looksLikeUrl,
  type MovedCounts,
  moveSqliteStore,
  type Sender,
  SettingsChangedError,
  SettingsError,
  type SourceSettings,
  StoreError,
} from "@countersign/sender";
import type { DeliveryStore } from "@countersign/sender/store";
import { savedSources } from "@countersign/server";
import { UsageError } from "../errors/usage-error.ts";
import { untilToldToEndEarly } from "../terminal/signals.ts";
import { printable, type Terminal } from "../terminal/terminal.ts";
import { openSharedStore, placeOf, unlessStopped } from "./shared-store.ts";

/** The options of `countersign move`, as commander reads them. */
export interface MoveFlags {
  readonly store: string;
}

/** Nothing is removed from the database meanwhile: how long its servers keep what has ended is not known here. */
const KEEP = "36500d";

/** How often the progress is printed, in deliveries. */
const STEP = 100_000;

/** Moves everything, or as much as it can until it is told to stop. Resolves to the exit code. */
export async function move(from: string, { store: url }: MoveFlags, terminal: Terminal): Promise<number> {
  const place = placeOfData(resolve(terminal.cwd, from), from);
  const abort = new AbortController();
  let isOver = false;
  const stop = untilToldToEndEarly().then((signal) => {
    // Then it only waits for the reader of its lines.
    if (isOver) return;
    terminal.complain(`${signal}: ends after the part that is under way. A second signal exits at once.`);
    abort.abort();
  });
  const store = await openSharedStore(url, KEEP, (message) => terminal.complain(printable(message)));
  const opening = createSender({ sources: "shared", store, deliver: false });
  const sender = await unlessStopped(opening, store, stop);
  if (sender === undefined) {
    terminal.complain("Nothing was moved. Run the same command again.");
    return 1;
  }
  try {
    const print = (line: string): void => terminal.print(printable(line));
    print(`Moves       ${from} to ${placeOf(url)}`);
    await moveAll(sender, store, { ...place, from, print, signal: abort.signal });
    if (!abort.signal.aborted) return 0;
    terminal.complain("Not everything was moved. Run the same command again, which continues.");
    return 1;
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    terminal.complain(printable(error.message));
    terminal.complain(
      "Not everything was moved. When this is corrected, run the same command again, which continues.",
    );
    return 1;
  } finally {
    isOver = true;
    await sender.close();
  }
}

/** Where the deliveries are, and the directory of a server that also keeps its settings there. */
interface Place {
  readonly file: string;
  readonly data?: string;
}

/** How each SQLite file begins that anything was written into. */
const SQLITE_MAGIC = "SQLite format 3\0";

/** Checked before the database is waited for. */
function placeOfData(path: string, from: string): Place {
  if (looksLikeUrl(from)) {
    throw new UsageError(
      "What to move is a URL. Pass the directory of serve --data, without file:. The database to move into goes with --store.",
    );
  }
  if (!existsSync(path)) throw new UsageError(`There is no ${from}. Pass the directory of serve --data.`);
  if (!statSync(path).isDirectory()) return { file: assertSqlite(path) };
  const file = join(path, "deliveries.db");
  if (existsSync(file)) return { file: assertSqlite(file), data: path };
  throw new UsageError(
    `${from} has no deliveries.db, so it is not a directory of serve --data. Pass that directory, or the file of a sqliteStore.`,
  );
}

function assertSqlite(file: string): string {
  const head = headOf(file);
  if (head === "" || head === SQLITE_MAGIC) return file;
  throw new UsageError(
    `${file} is not a SQLite database. Pass the directory of serve --data, or the file of a sqliteStore.`,
  );
}

function headOf(file: string): string {
  const head = Buffer.alloc(SQLITE_MAGIC.length);
  let opened: number | undefined;
  try {
    opened = openSync(file, "r");
    return head.toString("latin1", 0, readSync(opened, head));
  } catch (error) {
    throw new UsageError(`Cannot read ${file}: ${messageOf(error)}. Pass a file that can be read.`);
  } finally {
    if (opened !== undefined) closeSync(opened);
  }
}

/** Adds the sources of a data directory to the settings in the database, which are those of its servers. */
async function addSources(sender: Sender, { data, from, print }: MoveParts): Promise<void> {
  const saved = data === undefined ? [] : savedSources(data);
  const added = await putMissing(sender, saved).catch((error: unknown) => {
    if (!(error instanceof SettingsError)) throw error;
    const problems = error.issues.map(({ where, path, problem }) => `${where}: ${path} ${problem}`);
    throw new UsageError(
      `The sources of ${from} do not fit those of the database. ${problems.join(" ")} Nothing was moved. Start the old server again and change the source there, or change that of the database, and move then.`,
    );
  });
  if (added.length > 0) print(`Sources     ${namesOf(added)}`);
  const left = saved.filter((source) => !added.includes(source));
  if (left.length > 0) print(`Sources     ${namesOf(left)}, which the database has already`);
  if (saved.length === 0) print("Sources     none was added through the API");
}

/** Adds those that the settings lack, and returns them. A server that starts meanwhile may be quicker, and has its own then. */
async function putMissing(
  sender: Sender,
  saved: readonly SourceSettings[],
): Promise<readonly SourceSettings[]> {
  for (;;) {
    const { sources } = sender.settings;
    const known = new Set(sources.map(({ name }) => name));
    const missing = saved.filter(({ name }) => !known.has(name));
    try {
      if (missing.length > 0) await sender.update({ sources: [...sources, ...missing] });
      return missing;
    } catch (error) {
      if (!(error instanceof SettingsChangedError)) throw error;
    }
  }
}

function namesOf(sources: readonly SourceSettings[]): string {
  return sources.map(({ name }) => name).join(", ");
}

/** What is moved, and who is told. */
interface MoveParts extends Place {
  readonly from: string;
  readonly print: (line: string) => void;
  readonly signal: AbortSignal;
}

async function moveAll(sender: Sender, to: Pick<DeliveryStore, "take">, parts: MoveParts): Promise<void> {
  const { file: path, from, print, signal } = parts;
  let [hasSources, isTold] = [false, false];
  const pending = steps((count) => print(`Pending     ${numberOf(count, "delivery", "deliveries")} so far`));
  const history = steps((count) =>
    print(`History     ${numberOf(count, "ended delivery", "ended deliveries")} so far`),
  );
  const moved = async (counts: MovedCounts, isUsable: boolean): Promise<void> => {
    // Not before the file is open: a server that runs may add some more.
    if (!hasSources) await addSources(sender, parts);
    hasSources = true;
    if (isUsable && !isTold) for (const line of needsLines(counts)) print(line);
    isTold ||= isUsable;
    if (!isUsable) pending(counts.pending);
    history(counts.ended);
  };
  const { ended, skipped } = await moveSqliteStore({ path, to, moved, signal }).catch((error: unknown) => {
    throw inWordsOfTheCommand(error, from);
  });
  if (signal.aborted) return;
  print(
    `History     ${numberOf(ended, "ended delivery", "ended deliveries")}, ${numberOf(skipped, "skipped call", "skipped calls")}`,
  );
  print(`Stays       ${from} keeps all but the pending deliveries; rejected messages are only there`);
}

/** Calls `print` when a count has become larger by a step. */
function steps(print: (count: number) => void): (count: number) => void {
  let next = STEP;
  return (count) => {
    if (count < next) return;
    next += STEP;
    print(count);
  };
}

function needsLines({ keys, values, usage, pending }: MovedCounts): readonly string[] {
  return [
    `Repeats     ${numberOf(keys, "id", "ids")} of calls`,
    `Profiles    ${numberOf(values, "value", "values")} of audiences and computed traits`,
    `Usage       ${numberOf(usage, "call", "calls")}`,
    `Pending     ${numberOf(pending, "delivery", "deliveries")}`,
    "Ready       servers may start on the database now; the history follows",
  ];
}

function numberOf(count: number, one: string, many: string): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

/** The library speaks of senders and files, which the caller of the command has not chosen. */
function inWordsOfTheCommand(error: unknown, from: string): unknown {
  if (!(error instanceof StoreError)) return error;
  if (error.code === "ERR_STORE_LOCKED")
    return new UsageError(
      `${from} is in use by a countersign serve, or by another move. Stop that one, then move.`,
    );
  if (error.code === "ERR_STORE_NEWER")
    return new UsageError(`${from} was written by a newer version of countersign. Upgrade this one.`);
  return error;
}
