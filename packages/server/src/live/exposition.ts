import { setImmediate as nextTurn } from "node:timers/promises";
import type { Registry } from "prom-client";

/**
 * The text that `registry.metrics()` makes, as bytes. That writes all metrics in one turn: with thousands of destinations, the process
 * answered nothing else for seconds. Here others have their turn after each metric.
 */
export async function exposition(registry: Registry): Promise<Buffer> {
  const parts: Buffer[] = [];
  for (const { name } of registry.getMetricsAsArray()) {
    const text = await registry.getSingleMetricAsString(name);
    parts.push(Buffer.from(parts.length === 0 ? `${text}\n` : `\n${text}\n`));
    await nextTurn();
  }
  return Buffer.concat(parts);
}
