import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { sign } from "@countersign/core";
import { replay, type ReplayOptions } from "countersign";
import * as fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { formatRecordedRequest } from "@countersign/server/recording";
import { readLines } from "../../src/input/read-lines.ts";
import { runCommand } from "../support/command.ts";
import { runHere } from "../support/run-here.ts";
import { freePort } from "../../../../tests/support/free-port.ts";
import { portOf } from "../../../server/test/support/receiver.ts";
import { cleanUp, temporaryDirectory } from "../../../../tests/support/resources.ts";

interface Received {
  readonly body: Buffer;
  readonly headers: NodeJS.Dict<string | string[]>;
}

let received: Received[];
let to: string;

beforeEach(async () => {
  received = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      received.push({ body: Buffer.concat(chunks), headers: request.headers });
      response.writeHead(204).end();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanUp(() => server.close());
  to = `http://127.0.0.1:${portOf(server)}/`;
});

function recording(bodies: readonly Uint8Array[]): string {
  const file = join(temporaryDirectory(), "traffic.jsonl");
  const headers = { "Content-Type": "application/json", "X-Signature": "recorded", "X-Team": "a" };
  const lines = bodies.map((body) =>
    formatRecordedRequest({ at: "", url: "http://elsewhere/", headers, body }),
  );
  writeFileSync(file, lines.join(""));
  return file;
}

describe("replay", () => {
  it("sends the recorded bytes and headers, also bytes that are not UTF-8", async () => {
    const bodies = [
      Buffer.from('{ "spaced" : 1 }\n'),
      Buffer.from([0xff, 0x00, 0xc3]),
      Buffer.from("☕\u2028"),
    ];
    const report = await replay({ file: recording(bodies), to, keepHeaders: true });
    expect(report).toEqual({ sent: 3, succeeded: 3, failed: 0, unreadable: 0, withheld: [] });
    expect(received.map(({ body }) => body)).toEqual(bodies);
    expect(received[0]?.headers).toMatchObject({ "x-signature": "recorded", "x-team": "a" });
  });

  it("sends recorded credentials only to the origin they were recorded for, unless --keep-headers is given", async () => {
    const file = join(temporaryDirectory(), "traffic.jsonl");
    const headers = {
      "Content-Type": "application/json",
      "X-Signature": "recorded",
      Authorization: "Bearer canary",
    };
    const line = (url: string): string =>
      formatRecordedRequest({ at: "", url, headers, body: Buffer.from("{}") });
    writeFileSync(file, line("http://elsewhere/hooks") + line(new URL("/other/path", to).href));
    expect(await replay({ file, to })).toMatchObject({ sent: 2, withheld: ["Authorization"] });
    expect(await replay({ file, to, keepHeaders: true })).toMatchObject({ sent: 2, withheld: [] });
    const seen = received.map(({ headers: { authorization, ...others } }) => [
      authorization,
      others["x-signature"],
    ]);
    expect(seen).toEqual([
      [undefined, "recorded"],
      ["Bearer canary", "recorded"],
      ["Bearer canary", "recorded"],
      ["Bearer canary", "recorded"],
    ]);
  });

  it("signs again with --secret, and not with a variable that is set for other commands", async () => {
    const body = Buffer.from("{}");
    const args = ["replay", recording([body]), "--to", to];
    const env = { COUNTERSIGN_SECRET: "of another" };
    expect((await runHere([...args, "--secret", "new"], { env })).code).toBe(0);
    expect((await runHere(args, { env })).code).toBe(0);
    expect(received.map(({ headers }) => headers["x-signature"])).toEqual([sign(body, "new"), "recorded"]);
  });

  it("says how it went, and which headers it kept back", async () => {
    const some = recording([Buffer.from("{}")]);
    const sentAll = "1 sent, 1 answered 2xx, 0 not.\n";
    expect(await runCommand(["replay", some, "--to", to, "--keep-headers"])).toEqual({
      code: 0,
      stdout: sentAll,
      stderr: "",
    });
    expect(await runHere(["replay", some, "--to", to])).toEqual({
      code: 0,
      stdout: sentAll,
      stderr: `countersign: Not sent: X-Team, recorded for another receiver. Give --keep-headers to send it to ${to}.\n`,
    });
    const nowhere = `http://127.0.0.1:${await freePort()}/`;
    expect(await runHere(["replay", some, "--to", nowhere, "--keep-headers"])).toEqual({
      code: 1,
      stdout: "line 1: network: refused the connection\n1 sent, 0 answered 2xx, 1 not.\n",
      stderr: "",
    });
  });

  it("does not take an option that does not exist", async () => {
    const options = { file: recording([]), to, keepheaders: true } as ReplayOptions;
    await expect(replay(options)).rejects.toThrow('did you mean "keepHeaders"?');
  });

  it.each(["X-Signature", "x-signature"])(
    "signs anew with a secret, in place of a recorded %s",
    async (name) => {
      const file = join(temporaryDirectory(), "traffic.jsonl");
      writeFileSync(file, JSON.stringify({ headers: { [name]: "recorded" }, body: "{}" }));
      await replay({ file, to, secret: "new" });
      expect(received[0]?.headers["x-signature"]).toBe(sign("{}", "new"));
    },
  );

  it.each([
    [
      "its last line is cut off",
      ["", "", '{"at":"2026-01-01T00:00:00.000Z","headers":{"Conte'],
      "Line 3 is cut off",
    ],
    ["a line in the middle is cut off", ["", '{"at":"2026', ""], "Line 2 is not JSON"],
  ])("sends the rest of a recording of which %s, and reports the line", async (_title, lines, problem) => {
    const whole = formatRecordedRequest({ at: "", url: to, headers: {}, body: Buffer.from("{}") }).trimEnd();
    const file = join(temporaryDirectory(), "traffic.jsonl");
    writeFileSync(file, lines.map((line) => line || whole).join("\n"));
    const problems: string[] = [];
    const report = await replay({ file, to, onUnreadable: ({ message }) => problems.push(message) });
    expect(report).toMatchObject({ sent: 2, succeeded: 2, unreadable: 1 });
    expect(problems).toEqual([expect.stringContaining(problem)]);
  });

  it("refuses a file that is no recording before it sends anything", async () => {
    const file = join(temporaryDirectory(), "traffic.jsonl");
    writeFileSync(file, 'not a recording\n{"headers":{},"body":"{}"}\n');
    await expect(replay({ file, to })).rejects.toThrow("Line 1 is not JSON");
    expect(received).toEqual([]);
  });

  it.each([0, 1.5, Number.NaN])("refuses a concurrency of %s", async (concurrency) => {
    await expect(replay({ file: recording([]), to, concurrency })).rejects.toThrow(TypeError);
  });

  it("reports its progress, and stops when asked", async () => {
    const controller = new AbortController();
    const progress: number[] = [];
    const report = await replay({
      file: recording(Array.from({ length: 4 }, () => Buffer.from("{}"))),
      to,
      signal: controller.signal,
      onResult(result) {
        progress.push(result.progress);
        if (result.line === 3) controller.abort();
      },
    });
    expect(report.sent).toBe(3);
    expect(progress).toEqual([0.25, 0.5, 0.75]);
  });
});

it("--json has times with one decimal, as events and the API have them", async () => {
  const file = recording([Buffer.from("{}")]);
  const { stdout } = await runHere(["replay", file, "--to", to, "--json"]);
  expect(stdout.split("\n")[0]).toMatch(
    /^\{"line":1,"outcome":"success","status":204,"durationMs":\d+(?:\.\d)?\}$/,
  );
});

describe("readLines", () => {
  it("leaves out the byte order mark and the carriage returns that programs on Windows write", async () => {
    const chunks = async function* (): AsyncGenerator<Buffer> {
      yield Buffer.from('\uFEFF{"a":1}\r\n{"b":"\uFEFF"}\r\n');
    };
    const read: unknown[] = [];
    for await (const { text } of readLines(chunks())) read.push(JSON.parse(text));
    expect(read).toEqual([{ a: 1 }, { b: "\uFEFF" }]);
  });

  it("says of a file in UTF-16, as Windows PowerShell writes it, how to save it", async () => {
    for (const bom of ["fffe", "feff"]) {
      const chunks = async function* (): AsyncGenerator<Buffer> {
        yield Buffer.concat([Buffer.from(bom, "hex"), Buffer.from('{"a":1}\r\n', "utf16le")]);
      };
      await expect(readLines(chunks()).next()).rejects.toThrow(/UTF-16.* Save it as UTF-8\./);
    }
    const file = join(temporaryDirectory(), "calls.jsonl");
    writeFileSync(file, '\uFEFF{"type":"track","userId":"u1","event":"Ordered"}\r\n', "utf16le");
    for (const args of [
      ["send", "--file", file, "--to", to],
      ["import", file, "--server", to],
      ["replay", file, "--to", to],
    ]) {
      const { code, stderr } = await runHere(args);
      expect([args[0], code, stderr]).toEqual([args[0], 2, expect.stringContaining("Save it as UTF-8.")]);
      expect(stderr).toContain(file);
    }
    expect(received).toEqual([]);
  });

  it("reads the same lines, wherever the file is cut into chunks", async () => {
    const line = fc
      .string({ unit: "binary" })
      .filter(
        (text) =>
          /[^\s\0-\x20]/.test(text) && !/^\uFEFF|\n/.test(text) && Buffer.from(text).toString() === text,
      );
    await fc.assert(
      fc.asyncProperty(
        fc.array(line),
        fc.boolean(),
        fc.infiniteStream(fc.integer({ min: 1, max: 7 })),
        async (lines, ends, sizes) => {
          const bytes = Buffer.from(lines.join("\n") + (ends ? "\n" : ""));
          const chunks = async function* (): AsyncGenerator<Buffer> {
            for (let at = 0; at < bytes.length;) {
              const size = sizes.next().value ?? 1;
              yield bytes.subarray(at, at + size);
              at += size;
            }
          };
          const read: string[] = [];
          let last = 0;
          for await (const { text, end } of readLines(chunks())) {
            read.push(text);
            last = end;
          }
          expect(read).toEqual(lines);
          if (lines.length > 0) expect(last).toBe(bytes.length);
        },
      ),
    );
  });
});
