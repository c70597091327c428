import { execFile } from "node:child_process";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";

interface Report {
  /** Bytes by which heap and buffers grew at most, garbage collected. */
  readonly peak: number;
  readonly pending: number;
  readonly droppedBefore: number;
  readonly dropped: number;
  readonly counts: object;
  /** Milliseconds of close(1_000). */
  readonly took: number;
  /** Whether a timer of two seconds that was started with it fired before it was done. */
  readonly isLate: boolean;
  /** Milliseconds for which it used a core, which are the same on a machine that has other work. */
  readonly cpuMs: number;
}

const PATIENCE = { timeout: 180_000 };
/** Milliseconds for which close() may use a core, to tell the hook of each of some 180,000 messages. */
const TELLING = 3_000;

it(
  "a hung service and 1,000,000 calls: bounded heap, counted drops, close() in time with true counts",
  PATIENCE,
  async () => {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => sockets.add(socket.on("error", () => {})));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    const script = fileURLToPath(new URL("support/child-hung-service.mjs", import.meta.url));
    const maxQueueBytes = 16 * 1_024 * 1_024;
    const args = ["--expose-gc", script, `http://127.0.0.1:${port}`, "1000000", String(maxQueueBytes)];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    const { peak, pending, droppedBefore, dropped, counts, took, isLate, cpuMs } = JSON.parse(
      stdout,
    ) as Report;

    expect(sockets.size).toBeGreaterThan(0);
    // It did fill the queue. Beyond it there are the four bodies in flight, 512,000 bytes at most: ours, fetch's copy and the socket's.
    expect(peak).toBeGreaterThan(maxQueueBytes * 0.5);
    expect(peak).toBeLessThan(maxQueueBytes + 4 * 3 * 512_000);
    expect(pending).toBeGreaterThan(10_000);
    expect(droppedBefore).toBe(1_000_000 - pending);
    expect(dropped).toBe(1_000_000);
    expect(counts).toEqual({ delivered: 0, failed: 0, dropped: 1_000_000, pending: 0 });
    expect(took).toBeGreaterThanOrEqual(990);
    expect(isLate).toBe(false);
    expect(cpuMs).toBeLessThan(TELLING);
  },
);
