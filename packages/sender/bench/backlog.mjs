// A million pending deliveries: how much memory they take, and whether claiming slows with the backlog.
//
//   node packages/sender/bench/backlog.mjs [deliveries]
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { createSender, sqliteStore } from "@countersign/sender";
import { instantTransport, silentTransport } from "./support/instant-transport.mjs";

const backlog = Number(process.argv[2] ?? 1_000_000);
const sample = 20_000;
const rounds = 3;
const url = "http://127.0.0.1:9/";

let peakRss = 0;
const watch = setInterval(() => (peakRss = Math.max(peakRss, process.memoryUsage().rss)), 20);

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

/** Accepts deliveries while nothing is sent; returns how many per second. */
async function pile(path, count) {
  const sender = await createSender({ url, store: sqliteStore({ path }), transport: silentTransport() });
  const start = performance.now();
  for (let accepted = 0; accepted < count; accepted += 1_000) {
    const calls = Array.from({ length: 1_000 }, (_, index) =>
      sender.track({
        userId: `user ${accepted + index}`,
        event: "Order Completed",
        properties: { total: 12.5, currency: "EUR" },
      }),
    );
    await Promise.all(calls);
  }
  const perSecond = (count / (performance.now() - start)) * 1_000;
  await sender.close({ deadline: 0 });
  return perSecond;
}

/** Claims and settles from what is pending; returns how many per second. */
async function drain(path, count) {
  const sender = await createSender({ url, store: sqliteStore({ path }), transport: instantTransport() });
  let delivered = 0;
  const start = performance.now();
  await new Promise((resolve) => {
    sender.on("delivered", () => {
      delivered += 1;
      if (delivered === count) resolve();
    });
  });
  const perSecond = (count / (performance.now() - start)) * 1_000;
  const [{ pending }] = (await sender.stats()).destinations;
  await sender.close();
  return { perSecond, pending };
}

const folder = mkdtempSync(join(tmpdir(), "countersign-backlog-"));
try {
  const [small, large] = [join(folder, "small.db"), join(folder, "large.db")];
  await pile(small, rounds * sample + 1_000);
  const accepts = await pile(large, backlog);
  const results = [];
  // In turns, so that whatever else the machine does strikes both.
  for (let round = 0; round < rounds; round += 1)
    results.push([await drain(small, sample), await drain(large, sample)]);
  const few = median(results.map(([one]) => one.perSecond));
  const many = median(results.map(([, other]) => other.perSecond));
  const ratio = median(results.map(([one, other]) => other.perSecond / one.perSecond));
  const left = results.at(-1)[1].pending;
  console.log(
    `accepted with nothing being sent   ${Math.round(accepts)} per second, up to ${backlog} pending`,
  );
  console.log(
    `claimed and settled, at most ${String(rounds * sample + 1_000).padStart(7)} pending   ${Math.round(few)} per second`,
  );
  console.log(
    `claimed and settled, at least ${String(left).padStart(6)} pending   ${Math.round(many)} per second`,
  );
  console.log(`median ratio ${ratio.toFixed(2)}`);
  console.log(
    `peak memory ${Math.round(peakRss / 1_048_576)} MiB, file ${Math.round(statSync(large).size / 1_048_576)} MiB`,
  );
  const isGood = peakRss < 300 * 1_048_576 && ratio >= 0.8;
  console.log(isGood ? "good" : "NOT GOOD: 300 MiB or more, or claiming slows with the backlog");
  process.exitCode = isGood ? 0 : 1;
} finally {
  clearInterval(watch);
  rmSync(folder, { recursive: true, force: true });
}
