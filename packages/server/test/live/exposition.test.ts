import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { expect, it } from "vitest";
import { exposition } from "../../src/live/exposition.ts";

it("the text is that of prom-client to the byte, whatever labels and values there are", async () => {
  const registers = [new Registry()];
  const [registry = new Registry()] = registers;
  const odd = ["", "a", 'with "quotes"', String.raw`back\slash`, "two\nlines", "é\u2028", "{a},b=1"];
  const counter = new Counter({ name: "counted", help: 'Of "what"\n\\.', labelNames: ["a", "b"], registers });
  for (const a of odd) for (const b of odd) counter.inc({ a, b }, a.length);
  counter.inc({ a: "alone" });
  const gauge = new Gauge({ name: "measured", help: "Measured.", labelNames: ["of"], registers });
  const values = [0, -0, -1.5, 1e21, 1e-7, Number.NaN, Infinity, -Infinity];
  for (const [of, value] of values.entries()) gauge.set({ of }, value);
  new Gauge({ name: "unlabelled", help: "Unlabelled.", registers }).set(3);
  const collect = (): Promise<void> => Promise.resolve();
  const later = new Gauge({ name: "later", help: "Collected.", registers, collect });
  later.set(2);
  const none = new Counter({ name: "none", help: "No series.", labelNames: ["a"], registers });
  none.reset();
  const histogram = new Histogram({
    name: "took",
    help: "Took.",
    labelNames: ["a"],
    buckets: [0.5, 5],
    registers,
  });
  for (const a of odd) histogram.observe({ a }, a.length);
  new Histogram({ name: "bare", help: "Bare.", registers }).observe(0.3);
  expect((await exposition(registry)).toString()).toBe(await registry.metrics());
});

it("other work has its turn after each metric: thousands of series stopped the process for seconds", async () => {
  const registers = [new Registry()];
  const [registry = new Registry()] = registers;
  for (const name of ["a", "b", "c", "d", "e"]) {
    const counter = new Counter({ name, help: "Counted.", labelNames: ["of"], registers });
    for (let of = 0; of < 100; of += 1) counter.inc({ of });
  }
  let isDone = false;
  let turns = 0;
  const countTurns = (): void => {
    turns += 1;
    if (!isDone) setImmediate(countTurns);
  };
  setImmediate(countTurns);
  await exposition(registry);
  isDone = true;
  expect(turns).toBeGreaterThanOrEqual(5);
});
