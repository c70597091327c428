/** How soon it is tried again, in milliseconds. */
const AGAIN_MS = 100;

/** Tries until it succeeds, for as long as it is wanted; resolves to whether it did. The database may be away meanwhile. */
export async function untilDone(action: () => Promise<void>, isWanted: () => boolean): Promise<boolean> {
  while (isWanted()) {
    try {
      await action();
      return isWanted();
    } catch {
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  }
  return false;
}
