import {
  createSender,
  cursorOf,
  type Delivery,
  type DeliveryFilter,
  type Sender,
  sqliteStore,
  StoreError,
} from "@countersign/sender";
import { virtualClock } from "@countersign/sender/testing";
import Database from "libsql";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import fs, {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, it, vi } from "vitest";
import { isWindows, noPosix } from "../../core/test/support/windows.ts";
import { openSender } from "./support/open-sender.ts";
import { startReceiver } from "./support/receiver.ts";
import { silentTransport } from "./support/silent-transport.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";
import { canTrace } from "./support/traced-disk.ts";

const ENDPOINT_URL = "http://127.0.0.1:9/";

function rowsOf(path: string, sql: string): readonly Record<string, unknown>[] {
  const db = new Database(path);
  const rows = db.prepare(sql).all([]) as Record<string, unknown>[];
  db.close();
  return rows;
}

interface Elsewhere {
  /** What opening the store came to: "opened", or the error's code. */
  readonly opened: Promise<string>;
  /** Kills the process; resolves when it has ended. */
  kill(): Promise<unknown>;
}

/** Opens a sender in a process of its own, and keeps it open. */
function openElsewhere(path: string, options: { readonly asNobody: boolean }): Elsewhere {
  const script = `
    import { createSender, sqliteStore } from ${JSON.stringify(import.meta.resolve("@countersign/sender"))};
    if (${options.asNobody} && process.getuid() === 0) {
      process.setgid(65_534);
      process.setuid(65_534);
    }
    const store = sqliteStore({ path: ${JSON.stringify(path)} });
    const outcome = await createSender({ url: ${JSON.stringify(ENDPOINT_URL)}, store }).then(() => "opened", (error) => error.code);
    console.log(outcome);
    setInterval(() => {}, 60_000);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  return {
    opened: once(child.stdout, "data").then(([chunk]) => String(chunk).trim()),
    kill: () => {
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      return ended;
    },
  };
}

describe("a store that cannot be used is refused with a clear error", () => {
  const refusal = async (path: string): Promise<unknown> => {
    const error: unknown = await createSender({ url: ENDPOINT_URL, store: sqliteStore({ path }) }).catch(
      (error: unknown) => error,
    );
    expect(error).toBeInstanceOf(StoreError);
    expect(String(error)).toContain(path);
    return error;
  };

  it("not a database", async () => {
    const path = join(temporaryFolder(), "deliveries.db");
    writeFileSync(path, "a diary, not a database\n".repeat(500));
    expect(await refusal(path)).toMatchObject({ code: "ERR_STORE_CORRUPT" });
    expect(readFileSync(path, "utf8")).toMatch(/^a diary/);
  });

  it("damaged", async () => {
    const path = join(temporaryFolder(), "deliveries.db");
    await (await createSender({ url: ENDPOINT_URL, store: sqliteStore({ path }) })).close();
    const bytes = readFileSync(path);
    bytes.fill(7, 4096);
    writeFileSync(path, bytes);
    // A log that is left behind would be written into the backup that takes the place of the file, and damage it.
    expect(await refusal(path)).toMatchObject({
      code: "ERR_STORE_CORRUPT",
      message: expect.stringMatching(
        /Start the process again\. If .* together with the files -wal and -shm beside it/u,
      ) as string,
    });
  });

  it("without one of its tables, for that reason each time it is tried", async () => {
    const path = join(temporaryFolder(), "deliveries.db");
    await (await createSender({ url: ENDPOINT_URL, store: sqliteStore({ path }) })).close();
    rowsOf(path, "DROP TABLE skipped_call");
    const why = "no such table: skipped_call";
    expect([String(await refusal(path)), String(await refusal(path))]).toEqual([
      expect.stringContaining(why),
      expect.stringContaining(why),
    ]);
  });

  it("another program's", async () => {
    const path = join(temporaryFolder(), "deliveries.db");
    rowsOf(path, "CREATE TABLE diary (day TEXT)");
    expect(await refusal(path)).toMatchObject({ code: "ERR_STORE_FOREIGN" });
    expect(rowsOf(path, "SELECT name FROM sqlite_schema")).toEqual([{ name: "diary" }]);
    expect(rowsOf(path, "PRAGMA journal_mode")).toEqual([{ journal_mode: "delete" }]);
  });

  it("from a newer version", async () => {
    const path = join(temporaryFolder(), "deliveries.db");
    await (await createSender({ url: ENDPOINT_URL, store: sqliteStore({ path }) })).close();
    rowsOf(path, "PRAGMA user_version = 1000");
    const error = await refusal(path);
    expect(error).toMatchObject({ code: "ERR_STORE_NEWER" });
    expect(String(error)).toMatch(/1000.*Upgrade/);
  });

  it("a folder in its place", async () => {
    const path = join(temporaryFolder(), "deliveries.db");
    mkdirSync(path);
    const error = await refusal(path);
    expect(error).toMatchObject({ code: "ERR_STORE_OPEN" });
    expect(String(error)).toContain(
      `it is a folder. Name a file in it, such as ${join(path, "deliveries.db")}`,
    );
    expect(existsSync(`${path}-lock`)).toBe(false);
  });

  it("a file where its folder should be", async () => {
    const file = join(temporaryFolder(), "file");
    writeFileSync(file, "a diary");
    for (const path of [join(file, "deliveries.db"), join(file, "a", "b", "deliveries.db")]) {
      const error = await refusal(path);
      expect(error).toMatchObject({ code: "ERR_STORE_OPEN" });
      expect(String(error)).toMatch(/its folder .+ cannot be created\. Check the path and its permissions/);
    }
    expect(readFileSync(file, "utf8")).toBe("a diary");
  });

  // In a process of its own, which can be ended: the call that never returned was a synchronous one.
  it.runIf(process.platform === "linux").each(["/proc/nowhere/deliveries.db", "/proc/deliveries.db"])(
    "a file system that takes no files: %s",
    async (path) => {
      expect(await openElsewhere(path, { asNobody: false }).opened).toBe("ERR_STORE_OPEN");
    },
  );

  it.skipIf(isWindows)(`a folder that may not be written${noPosix}`, async () => {
    const folder = temporaryFolder();
    chmodSync(folder, 0o555);
    const path = join(folder, "new", "deliveries.db");
    expect(await openElsewhere(path, { asNobody: true }).opened).toBe("ERR_STORE_OPEN");
  });

  it("open in this process", async () => {
    const path = join(temporaryFolder(), "deliveries.db");
    const first = await openSender({ url: ENDPOINT_URL, store: sqliteStore({ path }) });
    expect(await refusal(path)).toMatchObject({
      code: "ERR_STORE_LOCKED",
      message: expect.stringMatching(/of this process.* keep its sender on globalThis/) as unknown,
    });
    await first.close();
    await openSender({ url: ENDPOINT_URL, store: sqliteStore({ path }) });
  });

  it.skipIf(isWindows).each(["first", "afterwards"])(
    `open by another path: a link to it, made %s${noPosix}`,
    async (made) => {
      const folder = temporaryFolder();
      const path = join(folder, "deliveries.db");
      const link = join(folder, "link.db");
      if (made === "first") symlinkSync("deliveries.db", link);
      await openSender({ url: ENDPOINT_URL, store: sqliteStore({ path: made === "first" ? link : path }) });
      if (made === "afterwards") symlinkSync("deliveries.db", link);
      const other = sqliteStore({ path: made === "first" ? path : link });
      await expect(createSender({ url: ENDPOINT_URL, store: other })).rejects.toMatchObject({
        code: "ERR_STORE_LOCKED",
      });
    },
  );

  it("open in this process, also in another one once this one has been refused it", async () => {
    const path = join(temporaryFolder(), "deliveries.db");
    await openSender({ url: ENDPOINT_URL, store: sqliteStore({ path }) });
    expect(await refusal(path)).toMatchObject({ code: "ERR_STORE_LOCKED" });
    expect(await openElsewhere(path, { asNobody: false }).opened).toBe("ERR_STORE_LOCKED");
  });

  it.skipIf(isWindows)(
    `with a lock that cannot be written, which would keep nobody away${noPosix}`,
    async () => {
      const folder = temporaryFolder();
      const path = join(folder, "deliveries.db");
      writeFileSync(`${path}-lock`, "");
      chmodSync(`${path}-lock`, 0o444);
      // Everything else may be written.
      chmodSync(folder, 0o777);
      expect(await openElsewhere(path, { asNobody: true }).opened).toBe("ERR_STORE_READ_ONLY");
    },
  );

  it.runIf(canTrace()).each([
    ["locks", "-lock", "fcntl:error=EOPNOTSUPP", "-lock cannot be locked. Keep the store on"],
    [
      "shared memory",
      "-shm",
      "mmap:error=ENODEV",
      " cannot be used: nothing of it can be mapped into shared memory",
    ],
  ])("on a file system without %s", async (_, suffix, fault, told) => {
    const path = join(temporaryFolder(), "deliveries.db");
    writeFileSync(path + suffix, "");
    const script = `
      import { createSender, sqliteStore } from ${JSON.stringify(import.meta.resolve("@countersign/sender"))};
      const store = sqliteStore({ path: ${JSON.stringify(path)} });
      await createSender({ url: ${JSON.stringify(ENDPOINT_URL)}, store }).catch(({ code, message }) => console.log(code, message));`;
    const fails = ["-f", "-qq", "-o", "/dev/null", "-P", path + suffix, "-e", `inject=${fault}`];
    const node = [process.execPath, "--input-type=module", "--eval", script];
    const { stdout } = await promisify(execFile)("strace", [...fails, ...node]);
    expect(stdout).toContain(`ERR_STORE_FAILED The store ${path}${told}`);
    expect(stdout).toMatch(/keep the store on a disk of this machine/i);
  });

  it("locked by another program for a moment, such as one that closes it: it is waited for", async () => {
    const path = join(temporaryFolder(), "deliveries.db");
    const first = await openSender({ url: ENDPOINT_URL, store: sqliteStore({ path }) });
    await first.close();
    // Longer than a write waits for it.
    const program = `const db = new (require("libsql"))(process.argv[1]);
      db.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
      console.log("locked");
      setTimeout(() => process.exit(), 1_000);`;
    const other = spawn(process.execPath, ["-e", program, path], { cwd: import.meta.dirname });
    onTestFinished(() => void other.kill());
    await once(other.stdout, "data");
    const sender = await openSender({ url: ENDPOINT_URL, store: sqliteStore({ path }) });
    expect(await sender.count()).toBe(0);
  });

  it("open in another process, until that one is killed", async () => {
    const path = join(temporaryFolder(), "deliveries.db");
    const other = openElsewhere(path, { asNobody: false });
    expect(await other.opened).toBe("opened");
    expect(await refusal(path)).toMatchObject({
      code: "ERR_STORE_LOCKED",
      message: expect.stringContaining("open in another sender. Close it first") as unknown,
    });
    await other.kill();
    await openSender({ url: ENDPOINT_URL, store: sqliteStore({ path }) });
  });

  it.skipIf(isWindows)(`read-only${noPosix}`, async () => {
    const folder = temporaryFolder();
    chmodSync(folder, 0o777);
    const path = join(folder, "deliveries.db");
    await (await createSender({ url: ENDPOINT_URL, store: sqliteStore({ path }) })).close();
    chmodSync(path, 0o444);
    chmodSync(`${path}-lock`, 0o666);
    expect(await openElsewhere(path, { asNobody: true }).opened).toBe("ERR_STORE_READ_ONLY");
  });

  it("a store serves one sender", async () => {
    const store = sqliteStore();
    await expect(store.find("x")).rejects.toMatchObject({ code: "ERR_STORE_CLOSED" });
    const sender = await openSender({ url: ENDPOINT_URL, store });
    await expect(createSender({ url: ENDPOINT_URL, store })).rejects.toMatchObject({
      code: "ERR_STORE_CLOSED",
    });
    await sender.close();
    await expect(store.find("x")).rejects.toMatchObject({ code: "ERR_STORE_CLOSED" });
  });
});

describe("a store that is full", () => {
  const traits = { filler: "x".repeat(30_000) };

  async function fill(
    sender: Sender,
    content: object = traits,
  ): Promise<{ accepted: string[]; error: unknown }> {
    const accepted: string[] = [];
    for (;;) {
      try {
        const receipt = await sender.identify({ userId: `user ${accepted.length}`, traits: { ...content } });
        accepted.push(...receipt.deliveries);
      } catch (error) {
        return { accepted, error };
      }
    }
  }

  it("refuses calls with a clear error, keeps what it accepted, and continues when there is room", async () => {
    const path = join(temporaryFolder(), "deliveries.db");
    const receiver = await startReceiver(() => ({ status: 503 }));
    const clock = virtualClock();
    const sender = await openSender({
      url: receiver.url,
      clock,
      store: sqliteStore({ path, maxBytes: 1_000_000 }),
    });
    const states: unknown[] = [];
    sender.on("storeState", (state) => void states.push(state));
    const { accepted, error } = await fill(sender);
    expect(error).toMatchObject({ name: "StoreError", code: "ERR_STORE_FULL" });
    expect(accepted.length).toBeGreaterThan(10);
    expect((await sender.stats()).destinations[0]?.pending).toBe(accepted.length);
    // A small call fits where a large one did not, also when both are in one commit.
    const [large, small] = await Promise.allSettled([
      sender.identify({ userId: "large", traits }),
      sender.identify({ userId: "small" }),
    ]);
    expect([large.status, small.status]).toEqual(["rejected", "fulfilled"]);
    expect((await sender.stats()).sources).toMatchObject([{ usage: accepted.length + 1 }]);
    // A limit of its own says nothing about the file, which can be written.
    expect(states).toEqual([]);
    await sender.close();
    expect(statSync(path).size).toBeLessThanOrEqual(1_000_000);

    receiver.answer = () => ({ status: 200 });
    const roomy = await openSender({
      url: receiver.url,
      clock: virtualClock(clock.now() + 60_000),
      store: sqliteStore({ path }),
    });
    await roomy.idle();
    for (const id of accepted) expect((await roomy.delivery(id))?.state).toBe("delivered");
  });

  it("records the result of everything it accepted, even when it is full", async () => {
    const path = join(temporaryFolder(), "deliveries.db");
    let answer: (() => void) | undefined;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    const receiver = await startReceiver(async () => {
      await answered;
      return { status: 200, body: "y".repeat(16_384) };
    });
    const sender = await openSender({ url: receiver.url, store: sqliteStore({ path, maxBytes: 1_000_000 }) });
    const errors: Error[] = [];
    sender.on("storeError", ({ error }) => errors.push(error));
    const { accepted } = await fill(sender);
    const settled = sender.idle();
    answer?.();
    await settled;
    expect(new Set(receiver.received.map(({ body }) => body)).size).toBe(accepted.length);
    expect(receiver.received).toHaveLength(accepted.length);
    expect(errors).toEqual([]);
    expect((await sender.stats()).destinations[0]?.pending).toBe(0);
    await sender.track({ userId: "u1", event: "There is room again" });
  });

  it.each([
    ["large", traits],
    ["small", {}],
  ])(
    "lets %s messages end when every attempt fails, with a shorter log if necessary",
    async (_name, traits) => {
      const path = join(temporaryFolder(), "deliveries.db");
      let answer: (() => void) | undefined;
      const answered = new Promise<void>((resolve) => (answer = resolve));
      const receiver = await startReceiver(async () => {
        await answered;
        return { status: 503, body: "y".repeat(16_384) };
      });
      const clock = virtualClock();
      const retry = { windowMs: 60_000 };
      const store = sqliteStore({ path, maxBytes: 400_000 });
      const sender = await openSender({ url: receiver.url, clock, retry, store });
      const errors: Error[] = [];
      sender.on("storeError", ({ error }) => errors.push(error));
      const { accepted, error } = await fill(sender, traits);
      expect(error).toMatchObject({ code: "ERR_STORE_FULL" });
      answer?.();
      await clock.advance("2m");
      expect(errors).toEqual([]);
      expect((await sender.stats()).destinations).toMatchObject([{ pending: 0 }]);
      expect(receiver.received.length).toBeGreaterThan(accepted.length * 4);
      const kept = await sender.deliveries();
      expect(kept.map(({ state }) => state)).toEqual(kept.map(() => "expired"));
      await sender.close();
      expect(statSync(path).size).toBeLessThanOrEqual(400_000);
    },
    // Thousands of attempts; the machine may be busy.
    240_000,
  );

  it("makes room by removing finished deliveries, the oldest first", async () => {
    const path = join(temporaryFolder(), "deliveries.db");
    const receiver = await startReceiver();
    const sender = await openSender({ url: receiver.url, store: sqliteStore({ path, maxBytes: 1_000_000 }) });
    const ids: string[] = [];
    const first = await sender.identify({ userId: "u1", traits });
    for (let message = 0; message < 100; message += 1) {
      const receipt = await sender.identify({ userId: "u1", traits });
      await receipt.settled();
      ids.push(...receipt.deliveries);
    }
    expect(receiver.received).toHaveLength(101);
    await expect(first.settled()).rejects.toThrow(/the store no longer keeps it/);
    const kept = (await sender.deliveries()).map(({ id }) => id);
    expect(kept.length).toBeGreaterThan(0);
    expect(kept).toEqual(ids.toReversed().slice(0, kept.length));
    await sender.close();
    expect(statSync(path).size).toBeLessThanOrEqual(1_000_000);
  });

  it("makes room in a file that is over its limit when it is opened", async () => {
    const path = join(temporaryFolder(), "deliveries.db");
    const receiver = await startReceiver();
    const before = await openSender({ url: receiver.url, store: sqliteStore({ path }) });
    for (let message = 0; message < 100; message += 1) await before.identify({ userId: "u1", traits });
    await before.idle();
    await before.close();
    expect(statSync(path).size).toBeGreaterThan(1_500_000);

    const sender = await openSender({ url: receiver.url, store: sqliteStore({ path, maxBytes: 1_000_000 }) });
    const receipt = await sender.identify({ userId: "u2", traits });
    expect(await receipt.settled()).toMatchObject([{ state: "delivered" }]);
    expect(await sender.count({})).toBeLessThan(60);
  });
});

describe("a store that fails for a while", () => {
  it.skipIf(isWindows)(
    `refuses calls while its file is not where it was, since they would be lost with it, and takes them once it is back${noPosix}`,
    async () => {
      const path = join(temporaryFolder(), "deliveries.db");
      const sender = await openSender({ url: "http://127.0.0.1:9/", store: sqliteStore({ path }) });
      const states: string[] = [];
      sender.on("storeState", ({ state }) => void states.push(state));
      renameSync(path, `${path}.moved`);
      await expect(sender.track({ userId: "u1", event: "e" })).rejects.toMatchObject({
        code: "ERR_STORE_OPEN",
        message: expect.stringContaining(
          `The store ${path} was removed, moved or replaced while it is open.`,
        ),
      });
      expect(sender.storeState.state).toBe("down");
      // The disk has nothing to say about what was refused.
      await expect(sender.track({ userId: "u1", event: "e" })).rejects.toMatchObject({
        code: "ERR_STORE_OPEN",
      });
      expect(states).toEqual(["down"]);
      renameSync(`${path}.moved`, path);
      await sender.track({ userId: "u1", event: "e" });
      expect(states).toEqual(["down", "up"]);
    },
  );

  it.skipIf(isWindows)(
    `says that its disk may fail while the system cannot look at its file${noPosix}`,
    async () => {
      const folder = join(temporaryFolder(), "data");
      const path = join(folder, "deliveries.db");
      const sender = await openSender({ url: "http://127.0.0.1:9/", store: sqliteStore({ path }) });
      renameSync(folder, `${folder}.moved`);
      symlinkSync(folder, folder);
      await expect(sender.track({ userId: "u1", event: "e" })).rejects.toMatchObject({
        code: "ERR_STORE_FAILED",
        message: expect.stringMatching(/could not be read or written\. Check its disk: .* \(ELOOP: /u),
      });
      rmSync(folder);
      renameSync(`${folder}.moved`, folder);
      await sender.track({ userId: "u1", event: "e" });
      expect(sender.storeState.state).toBe("up");
    },
  );

  it.skipIf(isWindows)(
    `refuses calls while another file is in the place of its own, since they would be lost with the one that is open${noPosix}`,
    async () => {
      const path = join(temporaryFolder(), "deliveries.db");
      const sender = await openSender({ url: "http://127.0.0.1:9/", store: sqliteStore({ path }) });
      renameSync(path, `${path}.moved`);
      copyFileSync(`${path}.moved`, path);
      await expect(sender.track({ userId: "u1", event: "e" })).rejects.toMatchObject({
        code: "ERR_STORE_OPEN",
      });
      renameSync(`${path}.moved`, path);
      await sender.track({ userId: "u1", event: "e" });
      expect(sender.storeState.state).toBe("up");
    },
  );

  it.skipIf(isWindows)(
    `refuses calls while a file of the same number on another file system is in its place, as of a snapshot${noPosix}`,
    async () => {
      const path = join(temporaryFolder(), "deliveries.db");
      const sender = await openSender({ url: "http://127.0.0.1:9/", store: sqliteStore({ path }) });
      const { statSync: real } = fs;
      const spy = vi.spyOn(fs, "statSync").mockImplementation((...args: Parameters<typeof real>) => {
        const found = real(...args);
        return found && Object.assign(found, { dev: BigInt(found.dev) + 1n });
      });
      syncBuiltinESMExports();
      const restore = (): void => {
        spy.mockRestore();
        syncBuiltinESMExports();
      };
      onTestFinished(restore);
      await expect(sender.track({ userId: "u1", event: "e" })).rejects.toMatchObject({
        code: "ERR_STORE_OPEN",
      });
      restore();
      await sender.track({ userId: "u1", event: "e" });
      expect(sender.storeState.state).toBe("up");
    },
  );

  it("says which file it is, and a code, when what is due cannot be read; it is sent once that can be", async () => {
    const path = join(temporaryFolder(), "deliveries.db");
    const clock = virtualClock();
    let status = 503;
    const receiver = await startReceiver(() => ({ status }));
    const sender = await openSender({ url: receiver.url, clock, store: sqliteStore({ path }) });
    const failed = new Promise<Error>((resolve) => sender.once("storeError", ({ error }) => resolve(error)));
    const receipt = await sender.track({ userId: "u1", event: "Signed Up" });
    await sender.expect(receipt).attempts(1);
    const other = new Database(path);
    status = 200;
    other.exec("ALTER TABLE message RENAME TO elsewhere");
    await clock.advance("1h");
    expect(await failed).toMatchObject({
      name: "StoreError",
      code: "ERR_STORE_FAILED",
      message: expect.stringContaining(path),
    });
    other.exec("ALTER TABLE elsewhere RENAME TO message");
    other.close();
    await clock.advance("1h");
    expect(await receipt.settled()).toMatchObject([{ state: "delivered" }]);
  });

  it("a result is stored when the store recovers; the message is not sent again", async () => {
    const path = join(temporaryFolder(), "deliveries.db");
    const clock = virtualClock();
    const other = new Database(path);
    const receiver = await startReceiver(() => {
      other.exec("BEGIN IMMEDIATE");
      return { status: 200, body: "thanks" };
    });
    const sender = await openSender({ url: receiver.url, clock, store: sqliteStore({ path }) });
    const failed = new Promise<Error>((resolve) => sender.once("storeError", ({ error }) => resolve(error)));
    const receipt = await sender.track({ userId: "u1", event: "Signed Up" });
    expect(await failed).toMatchObject({ name: "StoreError", code: "ERR_STORE_LOCKED" });
    await clock.advance("3s");
    expect((await sender.delivery(receipt.deliveries[0] ?? ""))?.state).toBe("pending");
    await expect(sender.track({ userId: "u2", event: "Meanwhile" })).rejects.toMatchObject({
      code: "ERR_STORE_LOCKED",
    });

    other.exec("COMMIT");
    await clock.advance("1s");
    const [delivery] = await receipt.settled();
    expect(delivery).toMatchObject({ state: "delivered", attempts: [{ outcome: "success" }] });
    expect(receiver.received).toHaveLength(1);
    other.close();
  });
});

describe("a store that another program writes to", () => {
  it("does not send a message again whose result waits to be stored, when others fall due meanwhile", async () => {
    const path = join(temporaryFolder(), "deliveries.db");
    const clock = virtualClock();
    const other = new Database(path);
    const receiver = await startReceiver(({ message }) => {
      if (message["userId"] === "u1") return { status: receiver.received.length === 1 ? 503 : 200 };
      if (receiver.received.length === 2) other.exec("BEGIN IMMEDIATE");
      return { status: 200 };
    });
    const retry = { firstDelayMs: 2_000, minJitter: 1 };
    const sender = await openSender({ url: receiver.url, clock, retry, store: sqliteStore({ path }) });
    const retried = await sender.track({ userId: "u1", event: "Signed Up" });
    await clock.advance("1s");
    const held = await sender.track({ userId: "u2", event: "Signed Up" });
    // Two tries to store the result, and between them the table is read for what falls due.
    await clock.advance("2s");
    other.exec("COMMIT");
    await clock.advance("2s");
    for (const receipt of [retried, held])
      expect(await receipt.settled()).toMatchObject([{ state: "delivered" }]);
    expect(receiver.received.map(({ message }) => message["userId"])).toEqual(["u1", "u2", "u1"]);
    other.close();
  });

  it("calls made at once wait once, together", async () => {
    const path = join(temporaryFolder(), "deliveries.db");
    const sender = await openSender({
      url: ENDPOINT_URL,
      transport: silentTransport(),
      store: sqliteStore({ path }),
    });
    const other = new Database(path);
    other.exec("BEGIN IMMEDIATE");
    const statements = Object.getPrototypeOf(other.prepare("SELECT 1")) as ReturnType<typeof other.prepare>;
    const run = vi.spyOn(statements, "run");
    onTestFinished(() => run.mockRestore());
    const calls = Array.from({ length: 12 }, () => sender.track({ userId: "u1", event: "e" }));
    const outcomes = await Promise.allSettled(calls);
    // The process stands still while a transaction waits to begin: a quarter of a second, and not one for each call.
    expect(run.mock.results.map(({ type }) => type)).toEqual(["throw"]);
    expect(outcomes).toHaveLength(12);
    for (const outcome of outcomes) expect(outcome).toMatchObject({ reason: { code: "ERR_STORE_LOCKED" } });
    other.exec("ROLLBACK");
    other.close();
  });
});

describe("a store that another program reads", () => {
  it("gives the space of its log back when that program has ended", async () => {
    const path = join(temporaryFolder(), "store.db");
    const sender = await openSender({
      url: ENDPOINT_URL,
      transport: silentTransport(),
      store: sqliteStore({ path }),
    });
    const logAfter = async (batches: number): Promise<number> => {
      for (let n = 0; n < batches; n += 1) {
        const event = { type: "track", event: "E", timestamp: "2026-01-31T14:00:00.000Z" } as const;
        const properties = { text: "x".repeat(20_000) };
        await sender.accept(
          Array.from({ length: 50 }, (_, user) => ({ ...event, userId: `u${user}`, properties })),
        );
      }
      return statSync(`${path}-wal`).size;
    };
    const reader = new Database(path);
    reader.exec("BEGIN");
    reader.prepare("SELECT count(*) FROM delivery").get([]);
    expect(await logAfter(20)).toBeGreaterThan(16_000_000);
    reader.exec("COMMIT");
    reader.close();
    expect(await logAfter(6)).toBeLessThanOrEqual(16_000_000);
  });
});

describe("what is kept", () => {
  it("a message's bytes are kept once for all its destinations and attempts", async () => {
    const path = join(temporaryFolder(), "deliveries.db");
    const receiver = await startReceiver(({ path }) => ({ status: path === "/0" ? 503 : 400 }));
    const clock = virtualClock();
    const destinations = ["0", "1", "2"].map((path) => ({
      name: path,
      endpoints: [{ url: receiver.url + path }],
    }));
    const sender = await openSender({
      sources: [{ name: "shop", destinations }],
      clock,
      store: sqliteStore({ path }),
    });
    const receipt = await sender.track({ userId: "u1", event: "Bought" });
    await clock.advance("5h");
    await sender.resend(receipt.deliveries[1] ?? "");
    await sender.idle();
    await sender.close();
    expect(receiver.received.length).toBeGreaterThan(20);
    const bodies = new Set(receiver.received.map(({ body }) => body));
    expect(bodies.size).toBe(1);
    const kept = rowsOf(path, "SELECT CAST(body AS TEXT) AS body FROM message");
    expect(kept).toEqual([{ body: [...bodies][0] }]);
    expect(rowsOf(path, "SELECT sum(attempts) AS n FROM delivery")).toEqual([
      { n: receiver.received.length },
    ]);
  });

  it("an attempt is logged with outcome, status, time and up to 16 KiB of the response", async () => {
    const receiver = await startReceiver(() => ({ status: 422, body: "é".repeat(20_000) }));
    const sender = await openSender({ url: receiver.url });
    const [delivery] = await (await sender.track({ userId: "u1", event: "Bought" })).settled();
    expect(delivery?.attempts).toMatchObject([
      { round: 1, endpoint: receiver.url, outcome: "rejected", status: 422 },
    ]);
    expect(Buffer.byteLength(delivery?.attempts[0]?.response ?? "")).toBe(16_384);
    expect(delivery?.attempts[0]?.durationMs).toBeGreaterThan(0);
  });

  it("a backup that SQLite makes of it while it is open has everything that was accepted before", async () => {
    const [path, backup] = [join(temporaryFolder(), "deliveries.db"), join(temporaryFolder(), "backup.db")];
    const clock = virtualClock("2026-11-22");
    const sender = await openSender({
      url: ENDPOINT_URL,
      clock,
      store: sqliteStore({ path }),
      transport: silentTransport(),
    });
    const before = await sender.track({ userId: "u1", event: "Before" });
    await sender.syncAudience("VIP", ["u1"]);
    const db = new Database(path);
    db.prepare("VACUUM INTO ?").run(backup);
    db.close();
    await sender.track({ userId: "u1", event: "After" });

    const receiver = await startReceiver();
    const restored = await openSender({ url: receiver.url, clock, store: sqliteStore({ path: backup }) });
    await restored.idle();

    expect((await restored.deliveries({ type: "track" })).map(({ id, state }) => [id, state])).toEqual([
      [before.deliveries[0], "delivered"],
    ]);
    expect(await restored.syncAudience("VIP", ["u1"])).toMatchObject({ deliveries: [] });
  });

  it("finished deliveries are removed after keepFor, pending ones never", async () => {
    const path = join(temporaryFolder(), "deliveries.db");
    const receiver = await startReceiver(({ message }) => ({
      status: message["event"] === "ends" ? 200 : 503,
    }));
    const clock = virtualClock();
    const store = sqliteStore({ path, keepFor: "1h" });
    const sender = await openSender({ url: receiver.url, clock, store });
    for (let index = 0; index < 1_200; index += 1) void sender.track({ userId: "u1", event: "ends" });
    const pending = await sender.track({ userId: "u1", event: "stays" });
    await clock.advance("30m");
    expect((await sender.stats()).destinations).toMatchObject([{ delivered: 1_200, pending: 1 }]);
    await clock.advance("2h");
    expect((await sender.stats()).destinations).toMatchObject([{ delivered: 0, pending: 1 }]);
    expect((await sender.deliveries()).map(({ id }) => id)).toEqual(pending.deliveries);
    await sender.close();
    expect(rowsOf(path, "SELECT count(*) AS n FROM message")).toEqual([{ n: 1 }]);
  });

  it("finished deliveries are removed a few at a time, so that calls do not wait for it", async () => {
    const receiver = await startReceiver();
    const clock = virtualClock();
    const store = sqliteStore({ path: join(temporaryFolder(), "deliveries.db"), keepFor: "1h" });
    const sender = await openSender({ url: receiver.url, clock, store });
    for (let index = 0; index < 1_000; index += 1) void sender.track({ userId: "u1", event: "ends" });
    await sender.idle();
    await clock.advance("2h");
    const left: number[] = [];
    // Of the later ones, the last two are not outdated.
    while ((left.at(-1) ?? 1_000) > 2) {
      await sender.track({ userId: "u1", event: "later" });
      await sender.idle();
      const [destination] = (await sender.stats()).destinations;
      left.push(destination?.delivered ?? 0);
      await clock.advance("1h");
    }
    const steps = left.map((count, index) => (left[index - 1] ?? 1_000) - count);
    expect(Math.max(...steps)).toBeLessThanOrEqual(250);
  });

  it("the file stays as it is when old messages make room for new ones", async () => {
    const path = join(temporaryFolder(), "deliveries.db");
    const receiver = await startReceiver();
    const clock = virtualClock();
    const sender = await openSender({
      url: receiver.url,
      clock,
      store: sqliteStore({ path, keepFor: "1h" }),
    });
    const sizes: number[] = [];
    for (let day = 0; day < 8; day += 1) {
      for (let index = 0; index < 300; index += 1)
        void sender.track({ userId: "u1", event: "e".repeat(1_000) });
      await clock.advance("1d");
      const [row] = rowsOf(path, "SELECT page_count AS pages FROM pragma_page_count");
      sizes.push(Number(row?.["pages"]));
    }
    expect(sizes[7]).toBeLessThanOrEqual((sizes[1] ?? 0) * 1.1);
  });

  it("deliveries are listed newest first, by every field, in pages", async () => {
    const receiver = await startReceiver(({ message }) => ({
      status: message["event"] === "Bad" ? 400 : 200,
    }));
    const sender = await openSender({ url: receiver.url });
    await sender.track({ userId: "u1", event: "Good", messageId: "m1" });
    await sender.track({ anonymousId: "a1", event: "Bad" });
    await sender.page({ userId: "u1", name: "Home" });
    await sender.idle();
    const types = async (filter: Parameters<Sender["deliveries"]>[0]): Promise<unknown[]> =>
      (await sender.deliveries(filter)).map(({ type, event }) => event ?? type);
    expect(await types({})).toEqual(["page", "Bad", "Good"]);
    expect(await types({ limit: 2 })).toEqual(["page", "Bad"]);
    const [, second] = await sender.deliveries({ limit: 2 });
    expect(await types({ after: cursorOf(second as Delivery) })).toEqual(["Good"]);
    expect(await types({ state: "failed" })).toEqual(["Bad"]);
    expect(await types({ type: "page" })).toEqual(["page"]);
    expect(await types({ identity: "a1" })).toEqual(["Bad"]);
    expect(await types({ event: "Good", source: "default", destination: "default/webhooks" })).toEqual([
      "Good",
    ]);
    expect(await types({ messageId: "m1" })).toEqual(["Good"]);
    expect(await types({ event: "Good", state: "failed" })).toEqual([]);
  });

  it("a long list can be read page by page, and searched to its end", async () => {
    const sender = await openSender({ url: ENDPOINT_URL, transport: silentTransport() });
    const receipts = await Promise.all(
      Array.from({ length: 6_000 }, (_, index) => sender.identify({ userId: `user ${index}` })),
    );
    const ids = receipts.flatMap(({ deliveries }) => deliveries);
    const read: string[] = [];
    for (let page = await sender.deliveries({ limit: 999 }); page.length > 0;) {
      read.push(...page.map(({ id }) => id));
      page = await sender.deliveries({ limit: 999, after: cursorOf(page.at(-1) as Delivery) });
    }
    expect(read).toEqual(ids.toReversed());
    expect((await sender.deliveries({ identity: "user 0" })).map(({ id }) => id)).toEqual(ids.slice(0, 1));
    expect(await sender.deliveries({ identity: "nobody" })).toEqual([]);
    await expect(sender.deliveries({ after: "nothing" })).rejects.toThrow(/"nothing" is not a cursor/);
  });

  it("resend is a new delivery of the same bytes; an unknown one is an error", async () => {
    const receiver = await startReceiver();
    const sender = await openSender({ url: receiver.url });
    const receipt = await sender.track({ userId: "u1", event: "Bought" });
    await receipt.settled();
    const again = await sender.resend(receipt.deliveries[0] ?? "");
    const [delivery] = await again.settled();
    expect(delivery).toMatchObject({ state: "delivered", messageId: receipt.messageId });
    expect(again.deliveries).not.toEqual(receipt.deliveries);
    expect(receiver.received[1]?.body).toBe(receiver.received[0]?.body);
    await expect(sender.resend("nothing")).rejects.toThrow(RangeError);
  });

  it("a missing folder is created; only the database and its lock remain", async () => {
    const path = join(temporaryFolder(), "a", "b", "deliveries.db");
    const sender = await createSender({ url: ENDPOINT_URL, store: sqliteStore({ path }) });
    await sender.close();
    expect(existsSync(path)).toBe(true);
    expect(existsSync(`${path}-wal`)).toBe(false);
  });
});

it("a path that is a URL is refused without the password in it", () => {
  expect(() => sqliteStore({ path: "postgres://user:pa55word@127.0.0.1/app" })).toThrow(
    new TypeError('sqliteStore({ path }) must be the path of a file, or ":memory:", not a URL.'),
  );
});

it("a search among few deliveries looks at those, and not at all whose event begins so", async () => {
  const sender = await openSender({ url: ENDPOINT_URL, transport: silentTransport(), store: sqliteStore() });
  const timestamp = new Date().toISOString();
  for (let n = 0; n < 3; n += 1)
    await sender.accept(
      Array.from({ length: 2_000 }, () => ({ type: "track", timestamp, userId: "u1", event: "Ordered" })),
    );
  await sender.track({ userId: "u2", event: "Other" });
  const Statement = Object.getPrototypeOf(new Database(":memory:").prepare("SELECT 1")) as Database.Statement;
  const runs = [vi.spyOn(Statement, "get"), vi.spyOn(Statement, "all")];
  onTestFinished(() => runs.forEach((run) => run.mockRestore()));
  const statements = async (filter: DeliveryFilter, found: number): Promise<number> => {
    for (const run of runs) run.mockClear();
    expect((await sender.summaries(filter)).deliveries).toHaveLength(found);
    expect(await sender.count(filter)).toBe(found);
    return runs.reduce((sum, { mock }) => sum + mock.calls.length, 0);
  };
  expect(await statements({ state: "failed", q: "Ord" }, 0)).toBe(0);
  // Through all whose event begins so, there would be some fifty; the choice itself takes a few.
  expect(await statements({ identity: "u2", q: "Ord" }, 0)).toBeLessThan(30);
  expect(await statements({ identity: "u2", q: "O" }, 1)).toBeLessThan(30);
  expect(await statements({ identity: "u1", q: "Oth" }, 0)).toBeLessThan(35);
});

it("a search for many messages prepares its statements once, not once for each message", async () => {
  const sender = await openSender({ url: ENDPOINT_URL, transport: silentTransport(), store: sqliteStore() });
  const calls = Array.from({ length: 100 }, (_, n) => ({
    type: "track" as const,
    timestamp: "2026-01-31T14:00:00.000Z",
    userId: `u${n}`,
    event: "Ordered",
  }));
  const messageId = (await sender.accept(calls)).map((receipt) => receipt.messageId);
  const prepare = vi.spyOn(Database.prototype, "prepare");
  onTestFinished(() => prepare.mockRestore());
  const filter = { messageId, source: "default", limit: 100 };
  expect((await sender.summaries(filter)).deliveries).toHaveLength(100);
  expect(await sender.count(filter)).toBe(100);
  expect(prepare.mock.calls.length).toBeLessThan(20);
});
