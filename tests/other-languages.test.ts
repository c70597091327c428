import { spawn, type ChildProcess } from "node:child_process";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { connect } from "node:net";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { certify, type Language } from "@countersign/certify";
import { sampleMessages } from "@countersign/core/testing";
import { MAX_NESTING } from "@countersign/protocol";
import { describe, expect, it, vi, type TestContext } from "vitest";
import { blocksOf } from "./support/documents.ts";
import { freePort } from "./support/free-port.ts";
import { commandLines } from "./support/shell-lines.ts";
import { startFront } from "./support/wrong-receivers/front.ts";

const PAGE = "docs/guides/other-languages.md";
const SECRET = "the shared secret";

/** Jackson, where Debian's libjackson2-databind-java puts it. */
const JACKSON = ["annotations", "core", "databind"].map((part) => `/usr/share/java/jackson-${part}.jar`);

interface Receiver {
  readonly language: Language;
  /** The file that the page names. */
  readonly file: string;
  /** What stands for the folder of files that the page's command names. */
  readonly files?: readonly string[];
  /** What stores a message, in place of the comment that says where. */
  readonly storing: {
    /** Fails with an error of the JSON parser, which the store may have, too. */
    readonly failing: string;
    /** Writes all of the message as UTF-8, as a database would have it. */
    readonly writing: string;
  };
  /**
   * Where it says how long a body may take: replaced, so that the test does not take as long. Null where its server reads bodies
   * beside the others. None if it leaves that to a web server before it, as the page says of gunicorn.
   */
  readonly secondsForBody?: RegExp | null;
  /** Whether it is audited behind a web server with a limit, since its own server reads every body to the end. */
  readonly isBehindServer: boolean;
  /** Whether .ci/run installs it. The others run where they happen to be. */
  readonly isInCi: boolean;
}

const RECEIVERS: readonly Receiver[] = [
  {
    language: "php",
    file: "webhooks.php",
    storing: {
      failing: "json_decode('{', flags: JSON_THROW_ON_ERROR);",
      writing: "json_encode($message, JSON_THROW_ON_ERROR);",
    },
    secondsForBody: null,
    isBehindServer: true,
    isInCi: true,
  },
  {
    language: "python",
    file: "receiver.py",
    storing: { failing: 'json.loads("{")', writing: "json.dumps(message, ensure_ascii=False).encode()" },
    isBehindServer: false,
    isInCi: false,
  },
  {
    language: "ruby",
    file: "config.ru",
    storing: { failing: 'JSON.parse("{")', writing: 'JSON.generate(message).encode("UTF-16")' },
    secondsForBody: null,
    isBehindServer: true,
    isInCi: false,
  },
  {
    language: "go",
    file: "main.go",
    storing: {
      failing:
        'if err := json.Unmarshal([]byte("{"), &message); err != nil { log.Print(err); return http.StatusInternalServerError }',
      writing: "if _, err := json.Marshal(message); err != nil { panic(err) }",
    },
    secondsForBody: null,
    isBehindServer: false,
    isInCi: false,
  },
  {
    language: "java",
    file: "Receiver.java",
    files: JACKSON,
    storing: { failing: 'JSON.readTree("{");', writing: "JSON.writeValueAsBytes(message);" },
    secondsForBody: /(?<=maxReqTime", )"15"/g,
    isBehindServer: false,
    isInCi: false,
  },
];

it("the page has one receiver for each language", () => {
  const languages = blocksOf(PAGE).map(({ language }) => language);
  expect(languages.filter((language) => language !== "sh")).toEqual(
    RECEIVERS.map(({ language }) => language),
  );
});

it("the page says how to start each receiver", () => {
  expect(RECEIVERS.map((receiver) => commandOf(receiver)[0])).toEqual([
    "php",
    "gunicorn",
    "puma",
    "go",
    "java",
  ]);
});

for (const receiver of RECEIVERS) {
  const { language, isInCi, storing } = receiver;
  const isHere = canRun(receiver);
  // One that nobody installs is no test that was skipped.
  if (!isHere && !isInCi) continue;
  const missing = isHere ? "" : ` (skipped: ${commandOf(receiver)[0]} is not on this machine)`;

  describe.skipIf(!isHere)(`the receiver in ${language}${missing}`, () => {
    it("passes every audit but the one that the page names", async (context) => {
      const { url } = await start(receiver, SECRET, context);
      await vi.waitFor(() => fetch(url));
      const report = await certify({ url: await behindServer(receiver, url, context), secret: SECRET });
      const failed = report.results.filter(({ outcome }) => outcome !== "passed");
      expect(failed.map(({ id }) => id)).toEqual(["accepts-re-spaced-json"]);
    });

    it("takes messages that can be stored, though text was cut within an emoji", async (context) => {
      const { url } = await start(receiver, SECRET, context, withCode(storing.writing));
      await vi.waitFor(() => fetch(url));
      const only = ["accepts-track", "accepts-unicode", "accepts-escapes", "accepts-lone-surrogates"];
      const { results } = await certify({ url, secret: SECRET, only });
      expect(results).toMatchObject(only.map((id) => ({ id, outcome: "passed" })));
    });

    it("takes a message that is nested as deep as a call may be", async (context) => {
      const { url } = await start(receiver, SECRET, context);
      await vi.waitFor(() => fetch(url));
      // The message and its properties are two levels.
      const depth = MAX_NESTING - 2;
      const message = JSON.stringify({ ...sampleMessages.track, properties: { deep: "@" } });
      const { status } = await post(
        url,
        message.replace('"@"', "[".repeat(depth) + "]".repeat(depth)),
        SECRET,
      );
      expect(status).toBe(204);
    });

    it("answers 500 if a message cannot be stored, and logs why: after a 4xx it would be lost", async (context) => {
      const { url, output } = await start(receiver, SECRET, context, withCode(storing.failing));
      await vi.waitFor(() => fetch(url));
      const { status } = await post(url, JSON.stringify(sampleMessages.track), SECRET);
      expect(status).toBe(500);
      await vi.waitFor(() => expect(output()).toMatch(/json/i));
    });

    it.for([undefined, ""])("accepts nothing if its secret is %j", async (secret, context) => {
      const { child, url, output } = await start(receiver, secret, context);
      await vi.waitFor(async () => {
        if (child.exitCode !== null) return;
        const { status } = await post(url, JSON.stringify(sampleMessages.track), "");
        expect(status).toBe(500);
      });
      await vi.waitFor(() => expect(output()).toMatch(/WEBHOOK_SECRET|Empty key|System\.getenv/));
    });
  });
}

function post(url: string, body: string, key: string): Promise<Response> {
  const signature = createHmac("sha1", key).update(body).digest("hex");
  const headers = { "content-type": "application/json", "x-signature": signature };
  return fetch(url, { method: "POST", headers, body });
}

for (const receiver of RECEIVERS.filter((one) => one.secondsForBody !== undefined && canRun(one))) {
  it(`the receiver in ${receiver.language} answers while forty bodies never end, each from anyone`, async (context) => {
    const { secondsForBody } = receiver;
    const { url } = await start(receiver, SECRET, context, (text) =>
      secondsForBody ? replaceOnce(text, secondsForBody, '"1"') : text,
    );
    await vi.waitFor(() => fetch(url));
    const { port, pathname } = new URL(url);
    const head = `POST ${pathname} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{`;
    const slow = Array.from({ length: 40 }, () => connect(Number(port), "127.0.0.1"));
    context.onTestFinished(() => slow.forEach((socket) => void socket.destroy()));
    await Promise.all(
      slow.map(async (socket) => {
        socket.on("error", () => undefined);
        await once(socket, "connect");
        await new Promise((resolve) => {
          socket.write(head, resolve);
        });
      }),
    );
    // A server that accepts one connection at a time, between the requests of others, has met all of the forty by then. One that ends
    // what takes long may end some of these, too, which wait for the forty.
    for (let count = 0; count < 100; count += 1) {
      await vi.waitFor(async () => expect((await fetch(url)).status).toBe(405));
    }
  });
}

/** The command that the page shows below a receiver. */
function commandOf({ language, files }: Receiver): readonly string[] {
  const blocks = blocksOf(PAGE);
  const at = blocks.findIndex((block) => block.language === language);
  const [line] = commandLines(blocks.slice(at + 1, at + 2).filter((block) => block.language === "sh"));
  return (line?.words ?? []).map((word) => (word === "lib/*" && files ? files.join(delimiter) : word));
}

function canRun(receiver: Receiver): boolean {
  const [name = ""] = commandOf(receiver);
  const { files = [] } = receiver;
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  return folders.some((folder) => existsSync(join(folder, name))) && files.every((file) => existsSync(file));
}

/** Starts the page's receiver in a folder of its own, on a free port in place of 3000. */
async function start(
  receiver: Receiver,
  secret: string | undefined,
  { onTestFinished }: TestContext,
  edit: (text: string) => string = (text) => text,
): Promise<{ readonly child: ChildProcess; readonly url: string; readonly output: () => string }> {
  const { language, file } = receiver;
  const port = await freePort();
  const here = (text: string): string => text.replaceAll("3000", String(port));
  const block = blocksOf(PAGE).find((other) => other.language === language);
  const folder = await mkdtemp(join(tmpdir(), "countersign-other-languages-"));
  await writeFile(join(folder, file), edit(here(block?.text ?? "")));
  const [name = "", ...args] = commandOf(receiver).map(here);
  const { WEBHOOK_SECRET: _, ...inherited } = process.env;
  // With a group of its own: gunicorn and go start processes that would outlive them.
  const child = spawn(name, args, {
    cwd: folder,
    env: { ...inherited, ...(secret !== undefined && { WEBHOOK_SECRET: secret }) },
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (piece: string) => {
      output += piece;
    });
  }
  const ended = once(child, "exit");
  onTestFinished(async () => {
    if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    await ended;
    await rm(folder, { recursive: true });
  });
  return { child, url: `http://127.0.0.1:${port}/webhooks`, output: () => output };
}

/** A receiver with this code where its comment says to store the message. */
function withCode(code: string): (text: string) => string {
  return (text) => replaceOnce(text, /(?:#|\/\/) Store \$?message here\./g, code);
}

function replaceOnce(text: string, part: RegExp, by: string): string {
  expect(text.match(part)).toHaveLength(1);
  return text.replace(part, () => by);
}

async function behindServer(
  { isBehindServer }: Receiver,
  url: string,
  { onTestFinished }: TestContext,
): Promise<string> {
  if (!isBehindServer) return url;
  const front = await startFront(url);
  onTestFinished(() => void front.server.close());
  return front.url;
}
