import { checkOptionNames, checkPort, type OptionNames } from "@countersign/protocol";
import { existsSync } from "node:fs";
import type Database from "libsql";
import type { DeliveryStore } from "../store/delivery-store.ts";
import { StoreError } from "../store/store-error.ts";
import type { StoredPart } from "../store/stored-part.ts";
import { filePathOf } from "./file-path.ts";
import { loadLibsql } from "./load-libsql.ts";
import { openDatabase } from "./open-database.ts";
import { releaseNativeHandles } from "./release-native-handles.ts";
import { notLoaded, storeErrorOf } from "./sqlite-error.ts";
import { StoredFile } from "./stored-file.ts";

/** What {@link moveSqliteStore} has moved. */
export interface MovedCounts {
  /** Pending deliveries, which the file does not have any more. */
  readonly pending: number;
  /** Ended deliveries. */
  readonly ended: number;
  /** Calls that were sent to no destination. */
  readonly skipped: number;
  /** Keys of calls, by which repeats are known. */
  readonly keys: number;
  /** Values of audiences and computed traits that destinations know. */
  readonly values: number;
  /** Calls that were counted as usage. */
  readonly usage: number;
}

/** From where to where {@link moveSqliteStore} moves. */
export interface MoveOptions {
  /** Path of the file of a `sqliteStore`. No sender has it open. */
  readonly path: string;
  /** The store that takes over, such as a `postgresStore`. A sender has it open. */
  readonly to: Pick<DeliveryStore, "take">;
  /**
   * Called when the file is open, and after each part, with the numbers so far. The move waits for what it returns.
   *
   * @param isUsable Whether only ended deliveries and skipped calls are left, so that senders on the new store may start.
   */
  readonly moved?: ((counts: MovedCounts, isUsable: boolean) => unknown) | undefined;
  /** Ends the move after the part that is under way. To move again continues it. */
  readonly signal?: AbortSignal | undefined;
}

const OPTION_NAMES: OptionNames<MoveOptions> = { path: true, to: true, moved: true, signal: true };

/**
 * Moves what a {@link sqliteStore} keeps into another store: first what new calls and pending deliveries depend on, then the
 * history. A pending delivery is removed from the file as soon as the other store has it; all else stays in the file, too. What was
 * interrupted continues when it is called again.
 *
 * @returns what it has moved
 * @throws StoreError when there is no such file, a sender has it open, or it cannot be read or written
 * @throws what the other store or `moved` throws
 * @throws TypeError when an option is not valid, or the other store cannot take anything over
 * @example
 * ```ts
 * const sender = await createSender({ sources: "shared", store, deliver: false });
 * await moveSqliteStore({ path: "data/deliveries.db", to: store });
 * await sender.close();
 * ```
 */
export async function moveSqliteStore(options: MoveOptions): Promise<MovedCounts> {
  checkOptionNames("moveSqliteStore()", options, OPTION_NAMES);
  const { path: given, to } = options;
  checkPort("moveSqliteStore({ to })", to, ["take"]);
  const path = filePathOf(given, "moveSqliteStore({ path }) must be the path of a file");
  if (!existsSync(path)) throw new StoreError("ERR_STORE_OPEN", `There is no store at ${path}.`);
  const libsql = await loadLibsql<typeof Database>(notLoaded(path));
  try {
    const { db, unlock } = openDatabase(path, libsql);
    try {
      return await moveAll(new StoredFile(db), path, options);
    } finally {
      db.close();
      unlock();
    }
  } catch (error) {
    throw error instanceof OutsideError ? error.cause : storeErrorOf(error, path);
  } finally {
    await releaseNativeHandles();
  }
}

/** What the other store or the caller has thrown, as the cause: it says nothing about the file. */
class OutsideError extends Error {}

async function outside(call: () => unknown): Promise<void> {
  try {
    await call();
  } catch (cause) {
    throw new OutsideError("The file did not fail.", { cause });
  }
}

/** A part that moves, and what is counted of it. */
interface Moving {
  readonly part: StoredPart;
  readonly counts: Partial<MovedCounts>;
  /** Called once the other store has it. */
  readonly taken?: () => void;
}

async function moveAll(
  file: StoredFile,
  path: string,
  { to, moved = () => {}, signal }: MoveOptions,
): Promise<MovedCounts> {
  assertClaimed(file, path);
  let counts: MovedCounts = { pending: 0, ended: 0, skipped: 0, keys: 0, values: 0, usage: 0 };
  for (const isUsable of [false, true]) {
    await outside(() => moved(counts, isUsable));
    for (const moving of isUsable ? historyOf(file) : needsOf(file)) {
      if (signal?.aborted === true) return counts;
      await outside(() => to.take?.(moving.part));
      moving.taken?.();
      counts = sum(counts, moving.counts);
      await outside(() => moved(counts, isUsable));
    }
  }
  return counts;
}

/** What senders depend on. */
function* needsOf(file: StoredFile): Iterable<Moving> {
  for (const part of file.keys()) yield { part, counts: { keys: part.keys.length } };
  // They are counted with the history.
  for (const deliveries of file.inDoubt()) yield { part: { kind: "deliveries", deliveries }, counts: {} };
  for (const deliveries of file.pending()) {
    const ids = deliveries.map(({ id }) => id);
    const taken = (): void => file.removePending(ids);
    yield { part: { kind: "deliveries", deliveries }, counts: { pending: ids.length }, taken };
  }
  // After what takes long: the other store keeps the values that it has, also when a sender on the file has announced newer ones
  // between two moves.
  for (const part of file.traits()) yield { part, counts: { values: part.values.size } };
  const usage = file.usage();
  const calls = [...usage.values()].reduce((total, count) => total + count, 0);
  yield { part: { kind: "usage", from: file.id(), usage }, counts: { usage: calls } };
}

/** What people look at. */
function* historyOf(file: StoredFile): Iterable<Moving> {
  for (const calls of file.skipped())
    yield { part: { kind: "skipped", calls }, counts: { skipped: calls.length } };
  for (const deliveries of file.ended())
    yield { part: { kind: "deliveries", deliveries }, counts: { ended: deliveries.length } };
}

function assertClaimed(file: StoredFile, path: string): void {
  const unclaimed = file.unclaimed();
  if (unclaimed.length === 0) return;
  throw new StoreError(
    "ERR_STORE_FAILED",
    `An older version stored the audiences or computed traits ${unclaimed.join(", ")} in ${path}, without the destinations that know them. Start a sender on it, sync each of them once, and move then.`,
  );
}

function sum(counts: MovedCounts, more: Partial<MovedCounts>): MovedCounts {
  const { pending = 0, ended = 0, skipped = 0, keys = 0, values = 0, usage = 0 } = more;
  return {
    pending: counts.pending + pending,
    ended: counts.ended + ended,
    skipped: counts.skipped + skipped,
    keys: counts.keys + keys,
    values: counts.values + values,
    usage: counts.usage + usage,
  };
}
