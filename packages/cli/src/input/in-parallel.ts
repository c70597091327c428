/**
 * Works on the items of a stream, at most `limit` at once, in the order in which they come. Never holds more than `limit` of
 * them. When one fails, no other is begun; it rejects once those in progress have ended.
 */
export async function inParallel<Item>(
  items: AsyncIterable<Item>,
  limit: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const running = new Set<Promise<void>>();
  const failures: unknown[] = [];
  const begin = (item: Item): void => {
    const task = work(item)
      .catch((error: unknown) => {
        failures.push(error);
      })
      .finally(() => running.delete(task));
    running.add(task);
  };
  try {
    for await (const item of items) {
      begin(item);
      if (running.size >= limit) await Promise.race(running);
      if (failures.length > 0) break;
    }
  } finally {
    await Promise.all(running);
  }
  if (failures.length > 0) throw failures[0];
}
