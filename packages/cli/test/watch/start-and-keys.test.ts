import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it, vi } from "vitest";
import { isWindows, noPosix } from "../../../core/test/support/windows.ts";
import { startCommand, startServe } from "../support/command.ts";
import {
  hasPseudoTerminals,
  startOnTerminal,
  withoutColours,
  type CommandOnTerminal,
} from "../support/pty.ts";
import {
  RECEIVER_SECRET,
  startScriptedReceiver,
  type ScriptedReceiver,
} from "../support/scripted-receiver.ts";
import { send } from "../../../server/test/support/http.ts";
import { closing, temporaryDirectory } from "../../../../tests/support/resources.ts";
import { freePort } from "../../../../tests/support/free-port.ts";

const CTRL_C = "\u0003";
const ESCAPE = "\u001B";

async function receiverOf(): Promise<ScriptedReceiver> {
  return closing(await startScriptedReceiver());
}

const track = (url: string, event: string, headers = {}): Promise<unknown> =>
  send(`${url}/v1/track`, { method: "POST", headers, body: { writeKey: "any", userId: "u-1004", event } });

/** A server that has said whether its receivers answer: one that is held up for a second does not wait for that. */
async function startInTime(args: readonly string[]): ReturnType<typeof startServe> {
  const server = await startServe(args);
  await server.printed(/Try it/);
  return server.stdout().includes("does not answer yet") ? startInTime(args) : server;
}

describe("the start", () => {
  it("says whether somebody listens where messages go, before the first message fails", async () => {
    const receiver = await receiverOf();
    const nobody = `http://127.0.0.1:${await freePort()}/webhooks`;
    const server = await startInTime(["--to", receiver.url, "--to", nobody, "--secret", RECEIVER_SECRET]);
    await server.printed(new RegExp(`^Receiver    ${new URL(receiver.url).host} answers$`, "m"));
    await server.printed(
      new RegExp(
        `^Receiver    ${new URL(nobody).host} refused the connection\\. Start the receiver, or correct the URL\\..* Messages wait for it\\.$`,
        "m",
      ),
    );
    expect(receiver.events).toEqual([]);
  });

  it("says that time is virtual, because nothing is retried until it is advanced", async () => {
    const receiver = await receiverOf();
    const server = await startServe(["--to", receiver.url, "--virtual-clock"]);
    await server.printed(/^Time        is virtual; .*: POST \/api\/clock$/m);
    const usual = await startServe(["--to", receiver.url]);
    await usual.printed(/Try it/);
    expect(usual.stdout()).not.toContain("virtual");
  });

  it("names the proxy, and not the password for it, in place of whether the receiver answers", async () => {
    const receiver = await receiverOf();
    const server = await startServe(["--to", receiver.url, "--noproxy", "internal"], {
      env: { COUNTERSIGN_PROXY: "http://team:hidden@proxy.example:3128" },
    });
    await server.printed(
      /^Through     the proxy http:\/\/proxy\.example:3128, except this machine and what noProxy names$/m,
    );
    await server.printed(/Try it/);
    expect(server.stdout()).not.toMatch(/^Receiver|hidden/m);
  });

  it("does not wait for a receiver that takes no connection, and leaves out what it may not call", async () => {
    const receiver = await receiverOf();
    const server = await startInTime(["--to", receiver.url, "--block-private-networks"]);
    expect(server.stdout()).not.toContain("Receiver ");
  });

  it.skipIf(isWindows).each([
    [["--token", "let-me-in"], { COUNTERSIGN_TOKEN: "let-me-in" }],
    [[], {}],
  ])(
    "has a command to try that can be pasted, though no log gets the write keys of the sources: %j (sh)",
    async (args, env) => {
      const receiver = await receiverOf();
      const cwd = temporaryDirectory();
      const destinations = [{ endpoints: [{ url: receiver.url }], secret: RECEIVER_SECRET }];
      const sources = ["it's a shop", "blog"].map((name) => ({
        name,
        writeKey: `wk:${name}`,
        destinations,
      }));
      writeFileSync(join(cwd, "countersign.config.json"), JSON.stringify({ sources }));
      const server = await startServe(args, { cwd });
      const [, command = ""] = await server.printed(/^Try it +(curl .*)$/m);
      expect(server.stdout()).not.toContain("wk:");
      await promisify(execFile)("sh", ["-c", command], { env: { ...process.env, ...env } });
      await vi.waitFor(() => expect(receiver.events).toEqual(["Hello"]));
    },
  );

  it("has a command to try with the name of a source, where that is its write key", async () => {
    const receiver = await receiverOf();
    const cwd = temporaryDirectory();
    const destinations = [{ endpoints: [{ url: receiver.url }], secret: RECEIVER_SECRET }];
    const sources = [
      { name: "shop", writeKey: "a key", destinations },
      { name: "blog", destinations },
    ];
    writeFileSync(join(cwd, "countersign.config.json"), JSON.stringify({ sources }));
    const server = await startServe([], { cwd });
    await server.printed(/^Try it/m);
    expect(server.stdout()).toMatch(/^Try it +curl -d '\{"writeKey":"blog",/m);
  });

  it("writes the token to no log", async () => {
    const receiver = await receiverOf();
    const server = await startServe(["--to", receiver.url, "--token", "let-me-in"]);
    await server.printed(/^Look at     http:\S+\/\?token=TOKEN for deliveries/m);
    expect(server.stdout() + server.stderr()).not.toContain("let-me-in");
  });
});

describe("several endpoints", () => {
  it("have their URL in each line; the last of a round says what comes next", async () => {
    const [one, two] = [await receiverOf(), await receiverOf()];
    const server = await startServe(["--to", one.url, "--to", two.url, "--secret", RECEIVER_SECRET]);
    await server.printed(/Try it/);
    await track(server.url, "Boom");
    await server.printed(/again in/);
    // One before them says that it was accepted, if the answers took a while.
    const lines = server
      .stdout()
      .split("\n")
      .filter((line) => line.includes('"Boom"') && !line.includes("no answer yet"));
    expect(lines.map((line) => /u-1004 (\S+) {2}500/.exec(line)?.[1]).toSorted()).toEqual(
      [one.url, two.url].toSorted(),
    );
    expect(lines.map((line) => line.includes("again in"))).toEqual([false, true]);
  });
});

/** The events of the control API after the event `id`, up to the first one of a name. */
async function eventsAfter(url: string, id: string, last: string): Promise<readonly unknown[]> {
  const stream = await fetch(`${url}/api/events`, { headers: { "last-event-id": id } });
  let text = "";
  for await (const chunk of stream.body ?? []) {
    text += Buffer.from(chunk).toString();
    if (new RegExp(`^event: ${last}\ndata: .*\n\n`, "m").test(text)) break;
  }
  const events = [...text.matchAll(/^data: (.*)$/gm)].map(
    ([, data = ""]) => JSON.parse(data) as { event: string },
  );
  return events.filter(({ event }) => event !== "hello");
}

describe.skipIf(isWindows)(`how much is printed${noPosix}`, () => {
  it("above 50 lines a second is one line a second, and every failure", async () => {
    const receiver = await receiverOf();
    const server = await startServe(["--to", receiver.url, "--secret", RECEIVER_SECRET]);
    await server.printed(/Try it/);
    const events = Array.from({ length: 1_000 }, (_, n) => ({
      type: "track",
      userId: "u",
      event: n % 50 === 0 ? "Denied" : "Ordered",
    }));
    await send(`${server.url}/v1/batch`, { method: "POST", body: { writeKey: "any", batch: events } });
    await vi.waitFor(() => expect(receiver.events).toHaveLength(1_000));
    server.process.kill("SIGTERM");
    expect(await server.ended).toBe(0);
    const text = server.stdout();
    expect(text.match(/"Denied" u {2}401 in/g)).toHaveLength(20);
    const single = text.match(/"Ordered" u {2}204 in/g)?.length ?? 0;
    const summaries = [
      ...text.matchAll(
        /^[\d:]{8} .*?(\d+) delivered.*\(more than 50 lines a second; failed deliveries are shown\)$/gm,
      ),
    ];
    // As many as the machine takes seconds for them, and one: a second begins with a line.
    const seconds = new Set(text.match(/^\d\d:\d\d:\d\d/gm)).size + 1;
    expect(single).toBeLessThanOrEqual(50 * seconds);
    expect(summaries.length).toBeGreaterThan(0);
    // Nothing is lost: each delivery has a line or is in a sum.
    expect(single + summaries.reduce((sum, [, count]) => sum + Number(count), 0)).toBe(980);
    expect(text).toMatch(/^1000 accepted, 980 delivered, 20 failed$/m);
  }, 60_000);

  it.each([[[]], [["--only", "failed"]]])(
    "does not grow with the messages that anyone has rejected, with %j",
    async (flags) => {
      const receiver = await receiverOf();
      const server = await startServe(["--to", receiver.url, ...flags]);
      await server.printed(/Try it/);
      const body = { writeKey: "any", batch: Array.from({ length: 2_500 }, () => 1) };
      await send(`${server.url}/v1/batch`, { method: "POST", body });
      server.process.kill("SIGTERM");
      expect(await server.ended).toBe(0);
      expect(server.stdout().match(/ rejected {2}message: /g)).toHaveLength(10);
      expect(server.stdout()).toContain("(and 2,490 more of its request)");
    },
  );

  it("with --only failed is failures only", async () => {
    const receiver = await receiverOf();
    const server = await startServe(["--to", receiver.url, "--secret", RECEIVER_SECRET, "--only", "failed"]);
    await server.printed(/Try it/);
    await track(server.url, "Ordered");
    await vi.waitFor(() => expect(receiver.events).toHaveLength(1));
    await track(server.url, "Missing");
    await server.printed(/"Missing" u-1004 {2}404/);
    expect(server.stdout()).not.toContain('"Ordered"');
  });

  it("with --quiet is where it listens, the sums, and forgeries that were accepted", async () => {
    const receiver = await receiverOf();
    const server = await startServe(["--to", receiver.url, "--secret", RECEIVER_SECRET, "--quiet"]);
    await track(server.url, "Missing");
    await vi.waitFor(() => expect(receiver.events).toHaveLength(1));
    await send(`${server.url}/api/faults`, { method: "POST", body: { fault: "stale_secret" } });
    await track(server.url, "Naive");
    await server.printed(/ACCEPTED A FORGERY/);
    server.process.kill("SIGTERM");
    await server.ended;
    expect(server.stdout()).toMatch(
      /^countersign listens on \S+\n[\d:]{8} \w{4} track "Naive" u-1004 {2}ACCEPTED A FORGERY {2}stale_secret: 204 in [\d.]+ m?s\n +→ .*\n2 accepted, 1 delivered, 1 failed\nACCEPTED A FORGERY: stale_secret at \S+\n$/,
    );
  });

  it("with --json is the API's events, and a summary that names accepted forgeries", async () => {
    const receiver = await receiverOf();
    const server = await startServe(["--json", "--to", receiver.url, "--secret", RECEIVER_SECRET]);
    await send(`${server.url}/api/faults`, { method: "POST", body: { fault: "bad_signature" } });
    await track(server.url, "Naive");
    await server.printed(/"event":"delivered"/);
    const [, run = ""] = await server.printed(/"id":"(\w+)-\d+"/);
    const streamed = await eventsAfter(server.url, `${run}-0`, "delivered");
    server.process.kill("SIGTERM");
    await server.ended;
    const events = server
      .stdout()
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(events.map(({ event }) => event)).toEqual(
      expect.arrayContaining(["listening", "fault", "accepted", "attempt", "delivered", "summary"]),
    );
    const told = events.filter(({ event }) => event !== "listening" && event !== "summary");
    expect(told).toEqual(streamed.slice(0, told.length));
    expect(events.at(-1)).toEqual({
      event: "summary",
      accepted: 1,
      delivered: 1,
      failed: 0,
      expired: 0,
      forgeriesRefused: 0,
      forgeriesAccepted: [{ fault: "bad_signature", endpoint: receiver.url, times: 1 }],
      waiting: 0,
      kept: null,
    });
  });

  it.each([["--json"], ["--only", "failed"]])(
    "refuses --quiet with %s, because they contradict each other",
    async (...args) => {
      const command = startCommand(["serve", "--quiet", ...args]);
      expect(await command.ended).toBe(2);
      expect(command.stderr()).toContain("cannot be used with option");
    },
  );
});

it.skipIf(isWindows)(`the sums say where the waiting deliveries are kept${noPosix}`, async () => {
  const cwd = temporaryDirectory();
  const nobody = `http://127.0.0.1:${await freePort()}/webhooks`;
  const server = await startServe(["--to", nobody, "--data", "kept"], { cwd });
  await server.printed(/Try it/);
  await track(server.url, "Ordered");
  await server.printed(/"Ordered" u-1004 {2}refused the connection/);
  server.process.kill("SIGTERM");
  await server.ended;
  expect(server.stdout()).toMatch(/^1 accepted, 0 delivered, 1 waiting \(kept in kept\)$/m);
});

describe.skipIf(!hasPseudoTerminals)("the keys", () => {
  interface Session {
    readonly command: CommandOnTerminal;
    readonly receiver: ScriptedReceiver;
    readonly url: string;
    readonly opened: () => string;
  }

  /** A server on a terminal, with a browser that writes down what it is told to open. */
  async function session(...args: readonly string[]): Promise<Session> {
    const receiver = await receiverOf();
    const directory = temporaryDirectory();
    const opened = join(directory, "opened");
    mkdirSync(join(directory, "bin"));
    writeFileSync(
      join(directory, "bin", "xdg-open"),
      `#!/bin/sh\nopened=$(dirname "$0")/../opened\necho "$1" > "$opened.part"\nmv "$opened.part" "$opened"\n`,
      { mode: 0o755 },
    );
    const command = startOnTerminal(
      ["serve", "--port", "0", "--to", receiver.url, "--secret", RECEIVER_SECRET, ...args],
      {
        columns: 100,
        env: { NO_COLOR: "1", PATH: [join(directory, "bin"), process.env["PATH"]].join(delimiter) },
      },
    );
    const [, url = ""] = await command.printed(/listens on (http:[\w.:/]+)/);
    await command.printed(/Keys {8}h \+ Enter shows them/);
    await command.printed(/Try it/);
    return { command, receiver, url, opened: () => readFileSync(opened, "utf8").trim() };
  }

  it("h lists them, an unknown one says so, and nothing else happens", async () => {
    const { command, receiver } = await session();
    command.type("h\n");
    for (const key of ["o ", "r ", "f \\[fault\\]", "a \\[time\\]", "c ", "q ", "h "])
      await command.printed(new RegExp(`^ {2}${key} +[a-z]`, "m"));
    command.type("x\n");
    await command.printed(/^No key x\. h \+ Enter shows the keys\.$/m);
    command.type("__proto__\n");
    await command.printed(/^No key __proto__\./m);
    expect(receiver.events).toEqual([]);
  });

  it("o opens the page, with the token; the link on the screen has it, too", async () => {
    const { command, url, opened } = await session("--token", "let me in");
    const link = `${url}/?token=let%20me%20in`;
    expect(command.shown()).toContain(`Look at     ${link} for deliveries`);
    command.type("o\n");
    await vi.waitFor(() => expect(opened()).toBe(link));
    const answer = await send(link);
    expect(answer.status).toBe(303);
  });

  it("f forges the next delivery, and r resends the one that failed last", async () => {
    const { command, receiver, url } = await session();
    command.type("f\n");
    await command.printed(/fault {5}bad_signature: injected into the next attempt/);
    await track(url, "Fake");
    await command.printed(/"Fake" u-1004 {2}rejected {2}bad_signature: 401, as it should be/);
    command.type("r\n");
    // A forgery that was refused has not failed.
    await command.printed(/^There is no failed delivery/m);
    await track(url, "Missing");
    await command.printed(/"Missing" u-1004 {2}404/);
    command.type("r\n");
    await vi.waitFor(() => expect(receiver.events).toEqual(["Fake", "Missing", "Missing"]));
    command.type("f nonsense\n");
    await command.printed(/nonsense|bad_signature, missing_signature|must be equal to one of/);
  });

  it("a advances a virtual clock to the next try, or by a time; on a real one it says how to get one", async () => {
    const { command, receiver, url } = await session("--virtual-clock");
    await command.printed(/Time {8}is virtual; .*: a \+ Enter, or POST \/api\/clock/);
    await track(url, "Boom");
    await command.printed(/again in .*2nd try/);
    expect(receiver.events).toHaveLength(1);
    command.type("a\n");
    await command.printed(/again in .*3rd try/);
    expect(receiver.events).toHaveLength(2);
    command.type("a 4h\n");
    await command.printed(/clock {5}advanced by 4 h/);
    await command.printed(/again in .*4th try/);
    await command.printed(/expired, no endpoint accepted it in time/);
    expect(receiver.events.length).toBeGreaterThan(20);
    const usual = await session();
    usual.command.type("a\n");
    await usual.command.printed(/--virtual-clock/);
  }, 40_000);

  it("c clears the screen, and q quits with the sums", async () => {
    const { command } = await session();
    command.type("c\n");
    await vi.waitFor(() => expect(command.shown()).toContain(`${ESCAPE}[2J${ESCAPE}[3J${ESCAPE}[H`));
    command.type("q\n");
    expect(await command.ended).toBe(0);
    expect(withoutColours(command.shown())).toMatch(
      /countersign: q: waiting[^]*\n0 accepted, 0 delivered\n$/,
    );
  });

  it("Ctrl-C twice leaves at once, also after q", async () => {
    const { command, url } = await session();
    await track(url, "Silent");
    await command.printed(/accepted, no answer yet/);
    command.type("q\n");
    await command.printed(/A second signal exits at once/);
    command.type(CTRL_C);
    expect(await command.ended).toBe(130);
  });
});
