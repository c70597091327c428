import { execFile } from "node:child_process";
import { once } from "node:events";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";

const PACKAGE = fileURLToPath(new URL("..", import.meta.url));

/** A program that records 3,000 events in the order of their ids, half of them when blocks have become full, and sends them. */
const PROGRAM = `
const { Analytics } = await import("./dist/index.js");
const { memoryTransport } = await import("./dist/testing.js");
const service = memoryTransport();
const analytics = new Analytics("KEY", { transport: service, maxInFlight: 1 });
// Half of them are more than a client keeps unpacked, 16 blocks of 64 KiB.
const properties = { text: "x".repeat(900) };
const record = (from, to) => {
  for (let n = from; n < to; n += 1) analytics.track({ userId: "u" + n, event: "E", messageId: "m" + n, properties });
};
record(0, 1_500);
// The client's own import has failed by then.
await import("./dist/queue/packed-messages.js").catch(() => {});
record(1_500, 3_000);
const counts = await analytics.close();
const inOrder = service.messages.every(({ messageId }, n) => messageId === "m" + n);
console.log(JSON.stringify({ ...counts, inOrder, arrived: service.messages.length }));
`;

/** What the program prints with a copy of the package that lacks the code that packs. */
async function runWithoutPacking(change: (dist: string) => Promise<void> = async () => {}): Promise<unknown> {
  const folder = await mkdtemp(join(tmpdir(), "countersign-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await cp(join(PACKAGE, "dist"), join(folder, "dist"), { recursive: true });
  await cp(join(PACKAGE, "package.json"), join(folder, "package.json"));
  await symlink(join(PACKAGE, "node_modules"), join(folder, "node_modules"), "junction");
  await rm(join(folder, "dist/queue/packed-messages.js"));
  await change(join(folder, "dist"));
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ["--input-type=module", "-e", PROGRAM],
    { cwd: folder },
  );
  expect(stderr).toBe("");
  return JSON.parse(stdout);
}

const ALL_ARRIVED = { delivered: 3_000, failed: 0, dropped: 0, pending: 0, inOrder: true, arrived: 3_000 };

it("a program in which packing cannot be loaded loses no event, and is not ended by it", async () => {
  expect(await runWithoutPacking()).toEqual(ALL_ARRIVED);
});

it("a call throws nothing in a bundle that was deployed without its other files, whose import() throws at once", async () => {
  const printed = await runWithoutPacking(async (dist) => {
    const path = join(dist, "queue/packing.js");
    const code = await readFile(path, "utf8");
    const bundled = code.replace(
      'import("./packed-messages.js")',
      'process.getBuiltinModule("module").createRequire(import.meta.url)("./793.cjs")',
    );
    expect(bundled).not.toBe(code);
    await writeFile(path, bundled);
  });
  expect(printed).toEqual(ALL_ARRIVED);
});

const MAX_QUEUE_BYTES = 3_000_000;

/**
 * A program that fills a queue before packing is loaded, until it has room again, and then another in one turn. None of the requests
 * is ever answered: what is delivered makes room, too.
 */
const FILLING = `
import { Analytics } from "@countersign/client";
const call = () => ({ userId: "u1", event: "Order Completed", messageId: crypto.randomUUID() });
const fill = () => {
  const transport = { send: () => new Promise(() => {}) };
  const limits = { maxInFlight: 1, maxQueueSize: 100_000, maxQueueBytes: ${MAX_QUEUE_BYTES}, flushAfter: 3_600_000 };
  const analytics = new Analytics("KEY", { transport, ...limits });
  const record = () => {
    const before = analytics.counts.dropped;
    analytics.track(call());
    return analytics.counts.dropped === before;
  };
  while (record());
  return { analytics, record };
};
const early = fill();
const { pending } = early.analytics.counts;
while (!early.record()) await new Promise(setImmediate);
const { analytics } = fill();
const size = JSON.stringify(call()).length;
const printed = JSON.stringify({ early: pending, late: analytics.counts.pending, size });
// Else it would wait for the requests.
process.stdout.write(printed, () => process.kill(process.pid, "SIGKILL"));
`;

it("what packing saves is room again: for what was queued before it was loaded, and in the turn that records more", async () => {
  // In a process of its own, which has not loaded it.
  const running = execFile(process.execPath, ["--input-type=module", "-e", FILLING], { cwd: PACKAGE });
  onTestFinished(() => void running.kill("SIGKILL"));
  let printed = "";
  running.stdout?.on("data", (text: string) => (printed += text));
  await once(running, "close");
  const { early, late, size } = JSON.parse(printed) as Record<"early" | "late" | "size", number>;
  // Each has a type and a time, too.
  expect(early * size).toBeLessThan(MAX_QUEUE_BYTES);
  expect(late * size).toBeGreaterThan(MAX_QUEUE_BYTES);
});
