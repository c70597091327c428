import Database from "libsql";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, it } from "vitest";
import { startReceiver } from "./support/receiver.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const KILLS = 50;
const TOTAL = 10_000;

/** A process that waits to be told to start: starting Node takes longer than what is tested. */
function prepare(): { readonly child: ChildProcess; readonly ready: Promise<unknown> } {
  const child = fork(join(import.meta.dirname, "support", "child-killed-sender.mjs"), { stdio: "inherit" });
  onTestFinished(() => void child.kill("SIGKILL"));
  return { child, ready: once(child, "message") };
}

function linesOf(path: string): readonly string[] {
  return existsSync(path) ? readFileSync(path, "utf8").split("\n").filter(Boolean) : [];
}

interface Kept {
  readonly integrity: unknown;
  /** State of the delivery of each message, by messageId. */
  readonly states: ReadonlyMap<string, string>;
  readonly messages: number;
}

/** What the file holds, read while no sender has it. */
function inspect(path: string): Kept {
  const db = new Database(path);
  const rows = (sql: string): Record<string, unknown>[] =>
    db.prepare(sql).all([]) as Record<string, unknown>[];
  const kept = {
    integrity: rows("PRAGMA integrity_check")[0]?.["integrity_check"],
    states: new Map(
      rows(
        "SELECT delivery.message_id, state FROM message JOIN delivery ON delivery.message = message.seq",
      ).map((row) => [String(row["message_id"]), String(row["state"])]),
    ),
    messages: Number(rows("SELECT count(*) AS n FROM message")[0]?.["n"]),
  };
  db.close();
  return kept;
}

it(`killed ${KILLS} times while it accepts ${TOTAL} messages, a sender loses none of them`, async () => {
  const folder = temporaryFolder();
  const path = join(folder, "deliveries.db");
  const acceptedLog = join(folder, "accepted.log");
  const receiver = await startReceiver();
  const receivedIds = (): Set<string> =>
    new Set(receiver.received.map(({ message }) => String(message["messageId"])));
  const { url } = receiver;
  const pendingAtKills: number[] = [];
  let next = prepare();

  for (let run = 0; run < KILLS; run += 1) {
    const { child, ready } = next;
    next = prepare();
    await ready;
    child.send({ url, path, acceptedLog, run, quota: TOTAL });
    // Some are killed before their first message, some in the middle of hundreds.
    const enough = Math.floor((Math.random() * 2 * TOTAL) / KILLS);
    await new Promise<void>((resolve, reject) => {
      child.once("exit", (code) => reject(new Error(`The sender ended by itself, with ${code}.`)));
      child.on("message", ({ accepted }: { accepted: number }) => {
        if (accepted >= enough) resolve();
      });
    });
    child.kill("SIGKILL");
    await once(child, "exit");

    const { integrity, states, messages } = inspect(path);
    const accepted = linesOf(acceptedLog);
    const count = (wanted: string): number => [...states.values()].filter((state) => state === wanted).length;
    expect(integrity).toBe("ok");
    expect(accepted.filter((id) => !states.has(id))).toEqual([]);
    expect(count("delivered") + count("pending")).toBe(messages);
    const received = receivedIds();
    expect([...states].filter(([id, state]) => state === "delivered" && !received.has(id))).toEqual([]);
    pendingAtKills.push(count("pending"));
  }

  const { child, ready } = next;
  await ready;
  const acceptedBefore = linesOf(acceptedLog).length;
  child.send({ url, path, acceptedLog, run: KILLS, quota: Math.max(TOTAL - acceptedBefore, 1) });
  await new Promise<void>((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`The sender ended by itself, with ${code}.`)));
    child.on("message", (message) => {
      if (message === "idle") resolve();
    });
  });
  child.kill("SIGKILL");
  await once(child, "exit");

  const accepted = linesOf(acceptedLog);
  const received = receivedIds();
  const { integrity, states } = inspect(path);
  expect(accepted.length).toBeGreaterThanOrEqual(TOTAL);
  expect(accepted.filter((id) => !received.has(id))).toEqual([]);
  expect([...states.values()].filter((state) => state !== "delivered")).toEqual([]);
  expect(integrity).toBe("ok");
  process.stdout.write(
    `SIGKILL: ${KILLS} kills, ${accepted.length} accepted, ${received.size} delivered at least once, ` +
      `${receiver.received.length - received.size} of them again, 0 lost, ` +
      `${Math.min(...pendingAtKills)} to ${Math.max(...pendingAtKills)} pending at a kill, integrity ok\n`,
  );
}, 900_000);
