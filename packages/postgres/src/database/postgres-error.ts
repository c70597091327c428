import { codeOf } from "@countersign/protocol";
import { StoreError } from "@countersign/sender/store";

/** A command that was sent and not answered: whether it took effect is not known. */
export class NoAnswerError extends Error {
  override readonly name = "NoAnswerError";
}

/** The database could not be reached: nothing was sent. */
export class NotReachedError extends Error {
  override readonly name = "NotReachedError";
}

/** In the time that a caller waits, it was not its turn, or there was no connection: nothing was sent. The message is a sentence. */
export class NotInTimeError extends NotReachedError {}

/** The server, the database or the user has no connection left. */
export const NONE_LEFT = "53300";
/** Another command is in the way for longer than this one may wait. */
export const LOCKED = "55P03";

// The server ends a connection that took too long. Nothing of the transaction is stored, or of the command that gets this answer.
/** For a transaction, from PostgreSQL 17 on. */
export const TRANSACTION_TIMEOUT = "25P04";
/** Until the next command of a transaction. */
export const IDLE_IN_TRANSACTION = "25P03";
/** Until the next command, in no transaction. */
export const IDLE_SESSION = "57P05";

/** Whether a connection has ended during the command, so that its fate is not known. Class 08 is that of poolers. */
export function isCutOff(state: string): boolean {
  return state.startsWith("08") || ["57P01", "57P02", "57P04"].includes(state);
}

/** Codes after which a connection is of no use: the server has ended it, or it leads to one that cannot write. */
const OF_NO_USE: ReadonlySet<string> = new Set([
  TRANSACTION_TIMEOUT,
  IDLE_IN_TRANSACTION,
  IDLE_SESSION,
  "25006",
]);

/** The SQLSTATE of an error of the server; undefined for any other error. */
export function sqlStateOf(error: unknown): string | undefined {
  const code = codeOf(error);
  return code !== undefined && /^[0-9A-Z]{5}$/.test(code) && "severity" in (error as Error)
    ? code
    : undefined;
}

/** Whether a command may have taken effect although it failed. */
export function isUnknown(error: unknown): boolean {
  if (error instanceof NotReachedError || error instanceof StoreError) return false;
  const state = sqlStateOf(error);
  return state === undefined ? error instanceof NoAnswerError : isCutOff(state);
}

/** Whether the connection must not be used again: it is broken, or leads to a server that cannot write. */
export function breaksConnection(error: unknown): boolean {
  const state = sqlStateOf(error);
  return state === undefined || isCutOff(state) || OF_NO_USE.has(state);
}

/** Whether the database takes no more connections. Those that there are may go on. */
export function hasNoneLeft(error: unknown): boolean {
  return sqlStateOf(error) === NONE_LEFT;
}

/** Whether two commands were in each other's way, so that the same command may succeed now. */
export function isConflict(error: unknown): boolean {
  const state = sqlStateOf(error);
  return state === "40P01" || state === "40001" || state === "23505";
}

/** Whether a row has no partition: another process has removed the day, which this one believed to be there. */
export function isWithoutPartition(error: unknown): boolean {
  return sqlStateOf(error) === "23514";
}

/** Whether nothing was stored, perhaps for one of the things that a command carries: on its own, another may succeed. */
export function mayBeOfOne(error: unknown): boolean {
  const state = sqlStateOf(error);
  // Each on its own would wait for the lock in turn, and all that comes behind them.
  if (state === LOCKED) return false;
  return (error instanceof TypeError || state !== undefined) && !isUnknown(error);
}

/** Whether it is the fault of what a command carries: on its own, something else may succeed. */
export function isOfContent(error: unknown): boolean {
  return error instanceof TypeError || /^(?:22|23|54)/.test(sqlStateOf(error) ?? "");
}
