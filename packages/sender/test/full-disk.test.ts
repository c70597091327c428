import { sqliteStore } from "@countersign/sender";
import Database from "libsql";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, onTestFinished, it } from "vitest";
import { isWindows, noPosix } from "../../core/test/support/windows.ts";
import { openSender } from "./support/open-sender.ts";
import { type Received, type Receiver, startReceiver } from "./support/receiver.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

/** What the child tells. */
interface Told {
  readonly accepted?: readonly string[];
  readonly refused?: Readonly<Record<"name" | "code" | "message", string>>;
  readonly storeError?: Readonly<Record<"name" | "code" | "message", string>>;
  readonly closed?: boolean;
}

interface Filled {
  readonly child: ChildProcess;
  readonly accepted: readonly string[];
  readonly refused: Told["refused"];
  /** Everything it has told so far, the latest last. */
  readonly told: readonly Told[];
}

/** A process whose files cannot grow beyond some 2 MiB, as on a disk without more room, has filled them. */
async function fillDisk(url: string, path: string): Promise<Filled> {
  const script = join(import.meta.dirname, "support", "child-full-disk.mjs");
  const limited = 'ulimit -S -f 4096; exec "$0" "$@"';
  const child = spawn("sh", ["-c", limited, process.execPath, script, url, path], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const told: Told[] = [];
  child.on("message", (message: Told) => told.push(message));
  await expect.poll(() => told.some(({ refused }) => refused !== undefined)).toBe(true);
  const { accepted = [], refused } = told.find((one) => one.refused !== undefined) ?? {};
  return { child, accepted, refused, told };
}

function messageIds({ received }: Pick<Receiver, "received">): string[] {
  return received.map(({ message }) => String(message["messageId"]));
}

function canLiftLimits(): boolean {
  try {
    execFileSync("sh", ["-c", "command -v prlimit"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

describe.skipIf(isWindows)(`a disk that is full${noPosix}`, { timeout: 120_000 }, () => {
  it("refuses calls with a clear error; after a kill, everything accepted is still there", async () => {
    const path = join(temporaryFolder(), "deliveries.db");
    const receiver = await startReceiver(() => "never");
    const { child, accepted, refused } = await fillDisk(receiver.url, path);

    expect(accepted.length).toBeGreaterThan(20);
    expect(refused).toMatchObject({
      name: "StoreError",
      code: expect.stringMatching(/^ERR_STORE_F(AILED|ULL)$/),
    });
    expect(refused?.message).toContain(
      `The store ${path} could not be read or written. Check its disk: it may be full or failing,`,
    );
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;

    receiver.answer = () => ({ status: 200 });
    const sender = await openSender({ url: receiver.url, store: sqliteStore({ path }) });
    await sender.idle();
    const deliveries = await sender.deliveries({ state: "delivered", limit: 1_000 });
    expect(deliveries.map(({ messageId }) => messageId).toSorted()).toEqual(accepted.toSorted());
    expect(new Set(messageIds(receiver))).toEqual(new Set(accepted));
    await sender.track({ userId: "u1", event: "There is room" });
    await sender.idle();
    await sender.close();
    const db = new Database(path);
    expect(db.prepare("PRAGMA integrity_check").all([])).toEqual([{ integrity_check: "ok" }]);
    db.close();
  });

  it.runIf(canLiftLimits())(
    "the same sender continues when there is room, and sends nothing twice",
    async () => {
      const path = join(temporaryFolder(), "deliveries.db");
      let answer: (() => void) | undefined;
      const answered = new Promise<void>((resolve) => (answer = resolve));
      const receiver = await startReceiver(async () => {
        await answered;
        return { status: 200, body: "thanks ".repeat(2_000) };
      });
      const { child, accepted, told } = await fillDisk(receiver.url, path);
      // What became of the deliveries under way cannot be recorded, and that is told.
      answer?.();
      await expect.poll(() => told.some(({ storeError }) => storeError?.name === "StoreError")).toBe(true);

      execFileSync("sh", ["-c", 'prlimit --pid "$0" --fsize=unlimited', String(child.pid)]);
      child.send("there is room");
      await expect.poll(() => told.at(-1)?.closed).toBe(true);

      const isLater = ({ message }: Received): boolean => message["event"] === "There is room";
      expect(receiver.received.filter(isLater)).toHaveLength(1);
      const later = messageIds({ received: receiver.received.filter(isLater) });
      const others = messageIds(receiver).filter((id) => !later.includes(id));
      expect(others.toSorted()).toEqual(accepted.toSorted());
    },
  );
});
