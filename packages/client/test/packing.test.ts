import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import type { Analytics, TrackCall } from "@countersign/client";
import { createBench } from "./support/bench.ts";

const MAX_QUEUE_BYTES = 3_000_000;

const call = (): TrackCall => ({ userId: "u1", event: "Order Completed", messageId: crypto.randomUUID() });

/** A client with room for more than one request, none of which is ever answered: what is delivered makes room, too. */
function createFilling(): { readonly analytics: Analytics; readonly record: () => boolean } {
  const transport = { send: () => new Promise<never>(() => {}) };
  const limits = { maxInFlight: 1, maxQueueSize: 100_000, maxQueueBytes: MAX_QUEUE_BYTES };
  const { analytics } = createBench({ transport, ...limits });
  const record = (): boolean => {
    const before = analytics.counts.dropped;
    analytics.track(call());
    return analytics.counts.dropped === before;
  };
  return { analytics, record };
}

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
  await symlink(join(PACKAGE, "node_modules"), join(folder, "node_modules"));
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

it("what packing saves is room again: for what was queued before it was loaded, and in the turn that records more", async () => {
  const early = createFilling();
  while (early.record());
  await expect.poll(early.record).toBe(true);
  const { analytics, record } = createFilling();
  while (record());
  // Each has a type and a time, too.
  expect(analytics.counts.pending * JSON.stringify(call()).length).toBeGreaterThan(MAX_QUEUE_BYTES);
});
