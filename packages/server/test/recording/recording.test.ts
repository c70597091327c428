import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer as createTcpServer, type AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { sqliteStore } from "@countersign/sender";
import { createServer } from "@countersign/server";
import { formatRecordedRequest, parseRecordedRequest } from "@countersign/server/recording";
import * as fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { changedStore } from "../../../sender/test/support/changed-store.ts";
import { isWindows, noPosix } from "../../../core/test/support/windows.ts";
import { openRecorder } from "../../src/recording/recorder.ts";
import { listsOpenFiles, openFilesIn } from "../../../../tests/support/open-files.ts";
import { temporaryDirectory } from "../../../../tests/support/resources.ts";

describe("a recording", () => {
  it("gives back any bytes, url and headers", () => {
    const text = fc.string({ unit: "grapheme" });
    fc.assert(
      fc.property(
        fc.uint8Array(),
        text,
        fc.dictionary(text, text, { noNullPrototype: true }),
        (body, url, headers) => {
          const line = formatRecordedRequest({ at: "now", url, headers, body });
          expect(line.indexOf("\n")).toBe(line.length - 1);
          const parsed = parseRecordedRequest(line, 1);
          expect({ ...parsed, body: [...parsed.body] }).toEqual({ at: "now", url, headers, body: [...body] });
        },
      ),
    );
  });
});

describe("a recorder", () => {
  /** Records these bodies, as one process. */
  function record(file: string, ...bodies: readonly string[]): void {
    const recorder = openRecorder({ file, now: () => 0, onError: () => {} });
    for (const body of bodies) {
      recorder.record({ url: "http://127.0.0.1:9/", headers: {}, body: Buffer.from(body) });
    }
    recorder.close();
  }

  function recordedIn(file: string): string[] {
    const lines = readFileSync(file, "utf8").split("\n");
    const whole = lines.filter((line) => line.endsWith("}"));
    return whole.map((line, index) => Buffer.from(parseRecordedRequest(line, index + 1).body).toString());
  }

  it.runIf(existsSync("/dev/full"))(
    "says once which file lost its disk, and that nothing more is recorded",
    () => {
      const errors: unknown[] = [];
      const onError = (error: unknown): void => void errors.push(error);
      const recorder = openRecorder({ file: "/dev/full", now: () => 0, onError });
      for (const body of ["one", "two"])
        recorder.record({ url: "http://127.0.0.1:9/", headers: {}, body: Buffer.from(body) });
      recorder.close();
      expect(errors).toMatchObject([
        {
          code: "ERR_RECORD_FILE",
          message: expect.stringContaining("Nothing more is recorded into /dev/full: ENOSPC"),
        },
      ]);
    },
  );

  it("has a message once, though a restart lies between its first attempt and a retry", () => {
    const file = join(temporaryDirectory(), "recording.jsonl");
    record(file, "first", "\ufffd second", "first");
    record(file, "first", "third", "\ufffd second");
    expect(recordedIn(file)).toEqual(["first", "\ufffd second", "third"]);
  });

  it("recognises the first message behind a byte order mark, with which programs on Windows begin a file", () => {
    const file = join(temporaryDirectory(), "recording.jsonl");
    record(file, "first");
    writeFileSync(file, `\uFEFF${readFileSync(file, "utf8").replaceAll("\n", "\r\n")}`);
    const before = readFileSync(file, "utf8");
    record(file, "first");
    expect(readFileSync(file, "utf8")).toBe(before);
  });

  it.skipIf(isWindows)(
    `of a pipe hides no module that is behind a link, as pnpm installs them${noPosix}`,
    () => {
      const folder = temporaryDirectory();
      const pipe = join(folder, "pipe");
      spawnSync("mkfifo", [pipe]);
      mkdirSync(join(folder, "real"));
      symlinkSync("real", join(folder, "link"));
      for (const name of ["first.cjs", "second.cjs"])
        writeFileSync(join(folder, "real", name), "module.exports = __filename;");
      const load = createRequire(import.meta.url);
      // Node remembers the folders in which it has found something.
      const first = load(join(folder, "link", "first.cjs")) as string;
      record(pipe);
      expect(load(join(folder, "link", "second.cjs"))).toBe(join(dirname(first), "second.cjs"));
    },
  );

  it.skipIf(isWindows)(
    `that is closed lets go of a pipe that nobody reads, and says that the rest is lost: it kept its process for ever${noPosix}`,
    async () => {
      const file = join(temporaryDirectory(), "pipe");
      spawnSync("mkfifo", [file]);
      const errors: unknown[] = [];
      const recorder = openRecorder({ file, now: () => 0, onError: (error) => void errors.push(error) });
      recorder.record({ url: "http://127.0.0.1:9/", headers: {}, body: Buffer.alloc(500_000) });
      recorder.close();
      const message = expect.stringContaining("closed before its reader had read everything");
      await expect.poll(() => errors).toMatchObject([{ code: "ERR_RECORD_FILE", message }]);
      if (listsOpenFiles) await expect.poll(() => openFilesIn(dirname(file))).toEqual([]);
    },
  );

  it("goes on after a line that was cut by a kill, and records that message again", () => {
    const file = join(temporaryDirectory(), "recording.jsonl");
    record(file, "first", "second");
    writeFileSync(file, readFileSync(file, "utf8").slice(0, -10));
    record(file, "first", "second", "third");
    expect(recordedIn(file)).toEqual(["first", "second", "third"]);
  });
});

describe.runIf(listsOpenFiles)("a server that cannot start", () => {
  it.each(["a store of its own", "a store that is injected"])(
    "closes its recording, with %s",
    async (title) => {
      const other = createTcpServer().listen(0, "127.0.0.1");
      onTestFinished(() => void other.close());
      await once(other, "listening");
      const { port } = other.address() as AddressInfo;
      const record = join(temporaryDirectory(), "traffic.jsonl");
      const store = title.endsWith("own") ? {} : { store: sqliteStore() };
      const starting = createServer({ to: "http://127.0.0.1:9/", port, record, ...store });
      await expect(starting).rejects.toMatchObject({ code: "ERR_PORT_TAKEN" });
      expect(openFilesIn(dirname(record))).toEqual([]);
    },
  );

  it("says why, also when its store cannot be closed then", async () => {
    const data = temporaryDirectory();
    mkdirSync(join(data, "server.db"));
    const failure = new Error("the disk is gone");
    const store = changedStore(sqliteStore(), (own) => ({
      async close() {
        await own.close();
        throw failure;
      },
    }));
    const told: unknown[] = [];
    const onError = (error: unknown): void => void told.push(error);
    const starting = createServer({ to: "http://127.0.0.1:9/", port: 0, data, store, onError });
    await expect(starting).rejects.toThrow("server.db");
    expect(told).toEqual([failure]);
  });
});
