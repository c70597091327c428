import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { setImmediate as nextTurn } from "node:timers/promises";

/**
 * Has the statements of a closed database collected.
 *
 * libsql closes its files when the last statement of a connection is collected, and has no call for it. Without this,
 * a closed store would keep file handles open for an unknown time, and on some systems its file could not be moved.
 * It costs a few milliseconds, when a store on disk is closed or cannot be opened.
 */
export async function releaseNativeHandles(): Promise<void> {
  // A callback of the disk that has led here is referred to until its turn ends, and refers to the store.
  await nextTurn();
  try {
    setFlagsFromString("--expose-gc");
    const collect: unknown = runInNewContext("gc");
    if (typeof collect === "function") collect();
  } catch {
    // Other runtimes than Node: collected sooner or later.
  }
  // Finalisers run in a turn of their own.
  await nextTurn();
}
