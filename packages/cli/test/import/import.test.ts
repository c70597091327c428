import { once } from "node:events";
import { appendFileSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { createServer as createTarget } from "@countersign/server";
import { importFile } from "countersign";
import { describe, expect, it, vi } from "vitest";
import { freePort } from "../../../../tests/support/free-port.ts";
import { runCommand, startCommand, startServe } from "../support/command.ts";
import { runHere } from "../support/run-here.ts";
import { startTlsReceiver } from "../support/tls-receiver.ts";
import { isWindows, noPosix } from "../../../core/test/support/windows.ts";
import { portOf, SECRET, startReceiver } from "../../../server/test/support/receiver.ts";
import { cleanUp, closing, temporaryDirectory } from "../../../../tests/support/resources.ts";

const MISREAD_KEYS = new URL("../../../../tests/support/misread-keys.mjs", import.meta.url).href;
const TIMESTAMP = "2024-02-29T12:00:00.000Z";

function callsFile(lines: readonly object[]): string {
  const file = join(temporaryDirectory(), "calls.jsonl");
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  return file;
}

function tracks(count: number): object[] {
  return Array.from({ length: count }, (_, index) => ({
    type: "track",
    userId: `u${index}`,
    event: "Ordered",
    timestamp: TIMESTAMP,
  }));
}

interface Service {
  readonly url: string;
  /** The messageIds of each request, in order of arrival. */
  readonly batches: string[][];
  /** How many requests it still answers. */
  answers: number;
  /** The user whose calls it rejects. */
  rejects: string;
  /** Answers with this status instead of 200. */
  status: number;
}

/** A service that answers so many requests, and keeps the others waiting. */
async function startService(answers: number): Promise<Service> {
  const service = { url: "", batches: [] as string[][], answers, rejects: "", status: 200 };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { batch } = JSON.parse(Buffer.concat(chunks).toString()) as {
        batch: { messageId: string; userId: string }[];
      };
      service.batches.push(batch.map(({ messageId }) => messageId));
      if (batch.some(({ userId }) => userId === service.rejects)) {
        response.writeHead(400).end('{"success":false,"code":"invalid_field","message":"not this one"}');
      } else if (service.status >= 300) {
        response.writeHead(service.status, { location: "https://moved.example/v1/batch" }).end();
      } else if (service.answers-- > 0) response.end('{"success":true}');
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanUp(() => {
    server.closeAllConnections();
    server.close();
  });
  service.url = `http://127.0.0.1:${portOf(server)}`;
  return service;
}

/** Where nothing listens: fetch refuses the low ports itself. */
async function addressOfNothing(): Promise<string> {
  return `http://127.0.0.1:${await freePort()}`;
}

describe("countersign import", () => {
  it("sends each call once with its own time, and a second run sends nothing", async () => {
    const receiver = closing(await startReceiver());
    const server = await startServe(["--to", receiver.url, "--secret", SECRET]);
    const file = callsFile([
      ...tracks(40),
      { type: "identify", userId: "u", traits: { plan: "pro" }, timestamp: TIMESTAMP },
      { version: 1, type: "alias", "Previous ID": "a", "User ID": "u", timestamp: TIMESTAMP },
    ]);
    const { code, stdout, stderr } = await runCommand(["import", file, "--server", server.url]);
    expect([code, stdout, stderr]).toEqual([0, "42 accepted, 0 rejected, up to line 42.\n", ""]);
    await vi.waitFor(() => expect(receiver.webhooks).toHaveLength(42));
    for (const { timestamp } of receiver.webhooks as unknown as { timestamp: string }[]) {
      // The formula of the service shifts it by the time that the request took.
      expect(Math.abs(Date.parse(timestamp) - Date.parse(TIMESTAMP))).toBeLessThan(60_000);
    }
    const again = await runHere(["import", file, "--server", server.url]);
    expect(again.code).toBe(0);
    expect(again.stdout).toContain("is imported up to its end, line 42. Pass --restart to import it again.");
    const restarted = await runHere(["import", file, "--server", server.url, "--restart"]);
    expect(restarted.stdout).toBe("42 accepted, 0 rejected, up to line 42.\n");
    // What was sent again has the same ids, by which the server recognises it.
    expect(receiver.attempts()).toBe(42);
  });

  it("a key with an escape is sent as it is, where JSON.parse would take it for another one", async () => {
    const receiver = closing(await startReceiver());
    const server = closing(await createTarget({ to: receiver.url, secret: SECRET, port: 0 }));
    const file = join(temporaryDirectory(), "calls.jsonl");
    writeFileSync(
      file,
      String.raw`{"type":"track","userId":"u","event":"E","timestamp":"2024-02-29T12:00:00.000Z","properties":{"caf\u00e9":"cr\u00e8me"}}`,
    );
    const env = { NODE_OPTIONS: `--import=${MISREAD_KEYS}` };
    const { stdout } = await runCommand(["import", file, "--server", server.url], { env });
    expect(stdout).toBe("1 accepted, 0 rejected, up to line 1.\n");
    await vi.waitFor(() => expect(receiver.webhooks).toHaveLength(1));
    expect(receiver.webhooks[0]).toMatchObject({ properties: { café: "crème" } });
  });

  it("goes on after a kill, and what it sends twice has the same messageId", async () => {
    const service = await startService(4);
    const file = callsFile(tracks(3_000));
    const killed = startCommand(["import", file, "--server", service.url]);
    // A fifth request is under way, and has no answer.
    await vi.waitFor(() => expect(service.batches.length).toBeGreaterThan(4));
    killed.process.kill("SIGKILL");
    expect(await killed.ended).toBe("SIGKILL");
    service.answers = Infinity;
    const { code, stdout } = await runCommand(["import", file, "--server", service.url]);
    expect([code, stdout]).toEqual([
      0,
      expect.stringContaining("3000 accepted, 0 rejected, up to line 3000."),
    ]);
    expect(new Set(service.batches.flat()).size).toBe(3_000);
  });

  it("goes on where it was stopped: what the server has acknowledged is not read again", async () => {
    const service = await startService(2);
    const file = callsFile(tracks(1_500));
    const abort = new AbortController();
    const first = await importFile({
      file,
      server: service.url,
      writeKey: "any",
      concurrency: 1,
      signal: abort.signal,
      onProgress: (share) => {
        if (share <= 0.3) return;
        abort.abort();
        service.answers = Infinity;
      },
    });
    expect(first.done).toBe(false);
    expect(first.line).toBeGreaterThanOrEqual(500);
    const before = new Set(service.batches.splice(0).flat());
    const second = await importFile({ file, server: service.url, writeKey: "any" });
    expect(second).toMatchObject({ delivered: 1_500, resumedAfter: first.line, line: 1_500, done: true });
    expect(service.batches.flat()).toHaveLength(1_500 - first.line);
    expect(new Set([...before, ...service.batches.flat()]).size).toBe(1_500);
  });

  it("that got nowhere, as with a wrong URL, goes on with the right one", async () => {
    const server = await startService(0);
    const file = callsFile(tracks(10));
    const down = await addressOfNothing();
    const report = await importFile({ file, server: down, writeKey: "any", giveUpAfterMs: 1 });
    expect(report).toMatchObject({ delivered: 0, line: 0, done: false });
    expect(report.stopped).toMatch(/ECONNREFUSED/);
    server.answers = Infinity;
    const again = await importFile({ file, server: server.url, writeKey: "any" });
    expect(again).toMatchObject({ delivered: 10, done: true });
  });

  it("does not divide a file between two servers", async () => {
    const [first, second] = [await startService(Infinity), await startService(Infinity)];
    const file = callsFile(tracks(10));
    await importFile({ file, server: first.url, writeKey: "any" });
    await expect(importFile({ file, server: second.url, writeKey: "any" })).rejects.toThrow(
      `was started with the server ${first.url}, not ${second.url}. Pass that server, or pass --restart to import everything again.`,
    );
    expect(second.batches).toEqual([]);
    const again = await importFile({ file, server: second.url, writeKey: "any", restart: true });
    expect(again).toMatchObject({ delivered: 10, done: true });
  });

  it("that was restarted and killed does not continue at the end of the run before", async () => {
    const service = await startService(1);
    const file = callsFile(tracks(3));
    await runHere(["import", file, "--server", service.url]);
    const restarted = startCommand(["import", file, "--server", service.url, "--restart"]);
    await vi.waitFor(() => expect(service.batches).toHaveLength(2));
    restarted.process.kill("SIGKILL");
    await restarted.ended;
    service.answers = Infinity;
    const { stdout } = await runHere(["import", file, "--server", service.url]);
    expect(stdout).toBe("3 accepted, 0 rejected, up to line 3.\n");
  });

  it("that was restarted and stopped says how it continues: with --restart it would not", async () => {
    const server = closing(await createTarget({ to: "http://127.0.0.1:9/", writeKey: "right", port: 0 }));
    const args = ["import", callsFile(tracks(3)), "--server", server.url, "--restart"];
    const { stderr } = await runHere(args);
    expect(stderr).toContain("Run the command again without --restart: it continues after line 0.");
  });

  it("stops at a write key that is not accepted, and the right one goes on", async () => {
    const receiver = closing(await startReceiver());
    const server = closing(
      await createTarget({ to: receiver.url, secret: SECRET, writeKey: "right", port: 0 }),
    );
    const file = callsFile(tracks(5));
    const wrong = await runHere(["import", file, "--server", server.url, "--write-key", "wrong"]);
    expect(wrong.code).toBe(1);
    expect(wrong.stderr).toContain(
      "The server does not accept the write key. Pass the right one with --write-key. Run the same command again: it continues after line 0.",
    );
    const right = await runHere(["import", file, "--server", server.url], {
      env: { COUNTERSIGN_WRITE_KEY: "right" },
    });
    expect([right.code, right.stdout]).toEqual([0, "5 accepted, 0 rejected, up to line 5.\n"]);
  });

  it("of a file that another program is writing ends where the file ended at the start", async () => {
    const service = await startService(Infinity);
    const file = callsFile(tracks(5_000));
    const half = '{"type":"track","userId":"u","event":"Ordered","timest';
    let isAdded = false;
    const onProgress = (): void => {
      if (!isAdded) appendFileSync(file, half);
      isAdded = true;
    };
    const first = await importFile({ file, server: service.url, writeKey: "any", onProgress });
    expect(first).toMatchObject({ delivered: 5_000, done: true });
    appendFileSync(file, `amp":"${TIMESTAMP}"}\n`);
    const second = await importFile({ file, server: service.url, writeKey: "any" });
    expect(second).toMatchObject({ delivered: 5_001, resumedAfter: 5_000, done: true });
  });

  it("says while it waits why it does", async () => {
    const file = callsFile(tracks(3));
    const refused = startCommand(["import", file, "--server", await addressOfNothing()]);
    await refused.printed(
      /^countersign: The server does not answer: .*ECONNREFUSED.*\. The calls are tried again for up to an hour\.$/m,
    );
    refused.process.kill("SIGKILL");
    await refused.ended;
    const service = await startService(Infinity);
    service.status = 503;
    const failing = startCommand(["import", file, "--server", service.url, "--restart", "--json"]);
    await failing.printed(/^countersign: The server answers 503\. The calls are tried again/m);
    service.status = 200;
    expect(await failing.ended).toBe(0);
    expect(failing.stdout()).toMatch(/^\{"delivered":3,.*\}\n$/);
  });

  it("says how to trust a server with a certificate that is not public", async () => {
    const { url } = await startTlsReceiver("any");
    const refused = startCommand(["import", callsFile(tracks(1)), "--server", url]);
    const [said] = await refused.printed(
      /^countersign: The server does not answer: .*certificate\. If .* NODE_EXTRA_CA_CERTS\. The calls are tried again/m,
    );
    expect(said).toContain("private authority");
    refused.process.kill("SIGKILL");
    await refused.ended;
  });

  it("says in words that a server speaks no TLS, in place of a line of OpenSSL's", async () => {
    const { url } = closing(await startReceiver());
    const tls = url.replace("http:", "https:");
    const failing = startCommand(["import", callsFile(tracks(1)), "--server", tls]);
    const [said] = await failing.printed(/^countersign: The server does not answer: .* The calls are tried/m);
    expect(said).toMatch(/: the TLS handshake failed: [a-z ]+\. The calls/);
    failing.process.kill("SIGKILL");
    await failing.ended;
  });

  it("says at once that a server listens on a port that fetch does not call, in place of trying for an hour", async () => {
    const { code, stderr } = await runHere([
      "import",
      callsFile(tracks(3_000)),
      "--server",
      "http://127.0.0.1:6000",
    ]);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^countersign: The import is not complete\. Node's fetch does not call port 6000, .* Run the same command again: it continues after line 0\.\n$/,
    );
  });

  it.each([
    [404, "The server answered 404. Check --server."],
    [308, "The server answered 308. Set --server to https://moved.example/v1/batch."],
  ])("stops where nothing accepts calls (%i), and does not count them as rejected", async (status, why) => {
    const service = await startService(Infinity);
    service.status = status;
    const args = ["import", callsFile(tracks(5)), "--server", service.url];
    const { code, stdout, stderr } = await runHere(args);
    expect([code, stdout]).toEqual([1, "0 accepted, 0 rejected, up to line 0.\n"]);
    expect(stderr).toContain(`${why} Run the same command again: it continues after line 0.`);
    service.status = 200;
    expect((await runHere(args)).stdout).toBe("5 accepted, 0 rejected, up to line 5.\n");
  });

  it("names the lines that the server rejects, and imports the others", async () => {
    const service = await startService(Infinity);
    service.rejects = "u2";
    const file = callsFile(tracks(4));
    const { code, stdout } = await runHere(["import", file, "--server", service.url]);
    expect(stdout).toMatch(/^line 3: rejected: The endpoint answered 400: .*not this one/m);
    expect(stdout).toContain("3 accepted, 1 rejected, up to line 4.");
    expect(code).toBe(1);
  });

  it("counts the lines as editors do, though the last one of the earlier run had no newline yet", async () => {
    const service = await startService(Number.POSITIVE_INFINITY);
    const file = callsFile([]);
    const lines = tracks(4).map((call) => JSON.stringify(call));
    const options = { file, server: service.url, writeKey: "any" };
    writeFileSync(file, lines.slice(0, 2).join("\n"));
    expect(await importFile(options)).toMatchObject({ line: 2, done: true });
    appendFileSync(file, `\n${lines[2]}`);
    expect(await importFile(options)).toMatchObject({ resumedAfter: 2, line: 3, done: true });
    appendFileSync(file, `\n${lines[3]}\n{}\n`);
    await expect(importFile(options)).rejects.toThrow("line 5 has no `type`");
    expect(service.batches.flat()).toHaveLength(3);
  });

  it.skipIf(isWindows)(
    `stores its position beside the file, wherever a link of that name leads${noPosix}`,
    async () => {
      const service = await startService(Number.POSITIVE_INFINITY);
      const file = callsFile(tracks(1));
      const elsewhere = join(temporaryDirectory(), "of-somebody-else");
      writeFileSync(elsewhere, "precious");
      symlinkSync(elsewhere, `${file}.progress.new`);
      expect(await importFile({ file, server: service.url, writeKey: "any" })).toMatchObject({ done: true });
      expect(readFileSync(elsewhere, "utf8")).toBe("precious");
      expect(readFileSync(`${file}.progress`, "utf8")).toContain('"done": true');
    },
  );

  it("keeps every digit of an id, and goes on with lines that were added at the end", async () => {
    const receiver = closing(await startReceiver());
    const server = closing(await createTarget({ to: receiver.url, secret: SECRET, port: 0 }));
    const file = callsFile([]);
    const line = `{"type":"track","userId":90071992547409931,"event":"E","timestamp":"${TIMESTAMP}"}\n`;
    writeFileSync(file, line);
    await runHere(["import", file, "--server", server.url]);
    writeFileSync(file, line + line);
    const { stdout } = await runHere(["import", file, "--server", server.url]);
    expect(stdout).toBe("Continued after line 1.\n2 accepted, 0 rejected, up to line 2.\n");
    await vi.waitFor(() => expect(receiver.webhooks).toHaveLength(2));
    expect(receiver.webhooks).toMatchObject([
      { userId: "90071992547409931" },
      { userId: "90071992547409931" },
    ]);
  });
});

describe("countersign import sends nothing", () => {
  const TRACK = JSON.stringify(tracks(1)[0]);
  it.each<[string, string, RegExp]>([
    [
      "of a file with a wrong line",
      `${TRACK}\n{"type":"track","userId":"u","timestamp":"2024-02-29T12:00:00Z"}\n${TRACK}`,
      /line 2: You must pass 'event'\. Nothing was sent\. Correct the file\.$/m,
    ],
    [
      "of calls without a time",
      `{"type":"track","userId":"u","event":"E"}`,
      /line 1: The call has no `timestamp`, so it would count as happening now\. Nothing was sent\./,
    ],
    [
      "of a wrong time",
      `{"type":"track","userId":"u","event":"E","timestamp":"soon"}`,
      /line 1: 'timestamp' must be a valid Date or ISO 8601 text/,
    ],
    [
      "of a deletion",
      `{"type":"delete","userId":"u","timestamp":"2024-02-29T12:00:00Z"}`,
      /line 1 has the unknown type "delete"\. The types are identify, track,/,
    ],
    [
      "of a large file with a wrong first line: no document is that large",
      `userId,event\n${`${TRACK}\n`.repeat(120_000)}`,
      /calls\.jsonl: Line 1 is not a JSON object, and the file is larger than 8 MiB, too large for one JSON document\./,
    ],
    ["of a file that is cut off", `${TRACK}\n{"type":"tra`, /Line 2 is cut off\./],
    [
      "of an array",
      `[${TRACK},${TRACK}]`,
      /is one JSON document\. Write one call on each line, for example with: jq -c/,
    ],
  ])("%s", async (_title, text, message) => {
    const service = await startService(Infinity);
    const file = callsFile([]);
    writeFileSync(file, text);
    const { code, stdout, stderr } = await runHere(["import", file, "--server", service.url]);
    expect(stderr).toMatch(message);
    expect([code, stdout, service.batches]).toEqual([2, "", []]);
    expect(existsSync(`${file}.progress`)).toBe(false);
  });

  it("of a file that has changed since, or whose progress is damaged", async () => {
    const service = await startService(Infinity);
    const file = callsFile(tracks(3));
    await runHere(["import", file, "--server", service.url]);
    writeFileSync(file, readFileSync(file, "utf8").replace("u0", "u9"));
    const changed = await runHere(["import", file, "--server", service.url]);
    expect([changed.code, changed.stderr]).toEqual([
      2,
      `countersign: ${file} has changed since its import was started. Pass --restart to import everything again.\n`,
    ]);
    writeFileSync(`${file}.progress`, "{");
    const damaged = await runHere(["import", file, "--server", service.url]);
    expect(damaged.stderr).toContain(".progress is damaged, so the position of the import is not known.");
    expect([damaged.code, service.batches.flat()]).toEqual([2, expect.objectContaining({ length: 3 })]);
  });

  it("whose progress cannot be stored, because something else has its name", async () => {
    const service = await startService(Infinity);
    const file = callsFile(tracks(3));
    mkdirSync(`${file}.progress`);
    const { code, stderr } = await runHere(["import", file, "--server", service.url]);
    expect(stderr).toMatch(
      /^countersign: Cannot write .*\.progress, which stores .*\. Make its folder writable,/,
    );
    expect([code, service.batches]).toEqual([2, []]);
    expect(existsSync(`${file}.progress.new`)).toBe(false);
  });

  it("of a file that is not there", async () => {
    const { code, stderr } = await runHere(["import", "none.jsonl"], { cwd: temporaryDirectory() });
    expect(stderr).toMatch(
      /^countersign: Cannot read .*none\.jsonl: ENOENT.*\. Give a file with one call on each line\.\n$/,
    );
    expect(code).toBe(2);
  });
});
