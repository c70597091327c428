/**
 * How many deliveries of a destination a worker may have under way: its part of the concurrency, which the workers divide
 * among them. Workers that know the same list agree, so that all parts together are the concurrency.
 *
 * @param concurrency - Of the destination, in all processes.
 * @param key - The destination. It decides who gets what does not divide evenly, so that it is not always the same worker.
 * @param worker - The worker's id.
 * @param workers - Ids of all that deliver, in any order.
 */
export function shareOf(
  concurrency: number,
  key: string,
  worker: string,
  workers: readonly string[],
): number {
  if (workers.length < 2) return concurrency;
  const rank = workers.toSorted().indexOf(worker);
  if (rank < 0) return 0;
  const turn = (rank + hashOf(key)) % workers.length;
  return Math.floor(concurrency / workers.length) + (turn < concurrency % workers.length ? 1 : 0);
}

function hashOf(text: string): number {
  let hash = 7;
  for (let index = 0; index < text.length; index += 1)
    hash = (hash * 31 + text.charCodeAt(index)) % 1_000_003;
  return hash;
}
