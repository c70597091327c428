import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { runCommand, startCommand, startServe } from "../support/command.ts";
import { startSilentReceiver } from "../support/silent-receiver.ts";
import { isWindows, noPosix } from "../../../core/test/support/windows.ts";
import { send } from "../../../server/test/support/http.ts";
import { SECRET, startReceiver, type Receiver } from "../../../server/test/support/receiver.ts";
import { UNDER_PERMISSIONS } from "../../../../tests/support/permission-model.ts";
import { cleanUp, closing, temporaryDirectory } from "../../../../tests/support/resources.ts";

const track = (messageId: string): object => ({ type: "track", event: "Ordered", userId: "u", messageId });

async function batch(url: string, ids: readonly string[]): Promise<void> {
  const body = { writeKey: "any", batch: ids.map(track) };
  expect((await send(`${url}/v1/batch`, { method: "POST", body })).json()).toEqual({ success: true });
}

/** What the bounds of all waits of one test come to, so that the wait that fails is the one that is named. */
const ALL_WAITS_MS = 150_000;

describe("a 200 survives", { timeout: ALL_WAITS_MS }, () => {
  /** Retries come soon, so that the test does not wait for those of a receiver that was down. */
  function durable({ url }: Receiver): readonly [args: string[], options: { cwd: string }] {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, "countersign.config.json"), '{"retry":{"firstDelayMs":200,"maxDelayMs":200}}');
    return [["--to", url, "--secret", SECRET, "--data", "data"], { cwd }];
  }

  const idsOf = ({ webhooks }: Receiver): unknown[] =>
    webhooks.map((message) => "messageId" in message && message.messageId);

  it("SIGKILL: a batch answered 200 is delivered after the server is started again", async () => {
    const receiver = closing(await startReceiver());
    const command = durable(receiver);
    const ids = Array.from({ length: 500 }, (_, n) => `m${n}`);
    receiver.down = true;
    const first = await startServe(...command);
    await batch(first.url, ids);
    first.process.kill("SIGKILL");
    expect(await first.ended).toBe("SIGKILL");
    expect(receiver.webhooks).toEqual([]);

    receiver.down = false;
    const second = await startServe(...command);
    await batch(second.url, ids);
    await second.printed(/track "Ordered" u {2}204 in/);
    await vi.waitFor(() => expect(new Set(idsOf(receiver))).toEqual(new Set(ids)));
    // The same batch once more was recognised: there are no more deliveries than messages.
    expect((await send(`${second.url}/api/deliveries?limit=1000`)).json()).toMatchObject({
      deliveries: Array.from({ length: 500 }, () => ({})),
    });
  });

  it("SIGKILL in the middle of a stream of batches: whatever was answered is delivered", async () => {
    const receiver = closing(await startReceiver());
    const command = durable(receiver);
    const answered: string[] = [];
    receiver.down = true;
    for (let round = 0; round < 2; round += 1) {
      const server = await startServe(...command);
      const client = (async () => {
        for (let n = 0; ; n += 1) {
          const ids = Array.from({ length: 20 }, (_, item) => `r${round}-${n}-${item}`);
          await batch(server.url, ids);
          answered.push(...ids);
        }
      })().catch(() => {});
      const enough = (round + 1) * 200;
      await vi.waitFor(() => expect(answered.length).toBeGreaterThan(enough), { interval: 1 });
      server.process.kill("SIGKILL");
      await server.ended;
      await client;
    }
    receiver.down = false;
    await startServe(...command);
    const missing = (): unknown[] => {
      const received = new Set(idsOf(receiver));
      return answered.filter((id) => !received.has(id));
    };
    await vi.waitFor(() => expect(missing()).toEqual([]));
  });
});

describe.skipIf(isWindows)(`stopping${noPosix}`, () => {
  // SIGHUP comes from a terminal that was closed.
  it.each(["SIGTERM", "SIGHUP"] as const)(
    "on %s lets attempts under way end, and leaves with 0",
    async (signal) => {
      const receiver = await startSilentReceiver();
      const server = await startServe(["--to", receiver.url]);
      await batch(server.url, ["a"]);
      const socket = await receiver.requested;
      server.process.kill(signal);
      await server.printed(
        new RegExp(
          `${signal}: waiting for running requests and attempts, for at most 10 s\\. A second signal exits at once\\.`,
        ),
      );
      await vi.waitFor(() => expect(send(`${server.url}/healthz`)).rejects.toThrow("ECONNREFUSED"));
      socket.end("HTTP/1.1 204 No Content\r\n\r\n");
      expect(await server.ended).toBe(0);
      expect(server.stdout()).toContain("204 in");
    },
  );

  it("does not wait longer than --drain", async () => {
    const receiver = await startSilentReceiver();
    const server = await startServe(["--to", receiver.url, "--drain", "0.2"]);
    await batch(server.url, ["a"]);
    await receiver.requested;
    server.process.kill("SIGTERM");
    expect(await server.ended).toBe(0);
    // It did not wait for the end of the attempt either, which ends by itself after five seconds.
    expect(server.stdout()).not.toContain("did not answer in time");
  });

  it.each([
    ["SIGTERM", 143],
    ["SIGINT", 130],
  ] as const)("leaves at once on a second %s", async (signal, code) => {
    const receiver = await startSilentReceiver();
    const server = await startServe(["--to", receiver.url]);
    await batch(server.url, ["a"]);
    await receiver.requested;
    server.process.kill(signal);
    await server.printed(/waiting for running requests and attempts/);
    // One that comes at once after the first is no second one.
    await vi.waitFor(() => {
      server.process.kill(signal);
      expect(server.process.exitCode).toBe(code);
    });
  });
});

it("an error after the start ends the process, which would else keep its port and heed no signal", async () => {
  const dist = (path: string): string => new URL(`../../dist/${path}`, import.meta.url).href;
  const script = `
    import { run } from ${JSON.stringify(dist("run.js"))};
    import { terminalOf } from ${JSON.stringify(dist("terminal/terminal.js"))};
    const print = () => { throw new Error("the terminal broke"); };
    const args = ["serve", "--port", "0", "--to", "http://127.0.0.1:1/"];
    process.exitCode = await run(args, { ...terminalOf(process), print });`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", script], { stdio: "pipe" });
  cleanUp(() => child.kill("SIGKILL"));
  let stderr = "";
  child.stderr.on("data", (data: Buffer) => (stderr += data.toString()));
  const [code] = await once(child, "close");
  expect([code, stderr]).toEqual([1, expect.stringContaining("the terminal broke")]);
});

describe("what serve prints", () => {
  it("says where it listens, what it forwards to, where to look, and each delivery as a line without colours", async () => {
    const receiver = closing(await startReceiver());
    const server = await startServe(["--to", receiver.url, "--secret", SECRET]);
    await server.printed(new RegExp(`Forwards +default/webhooks to ${receiver.url} \\(signed\\)`));
    await server.printed(/Kept in +memory; --data DIR keeps deliveries across restarts/);
    await server.printed(new RegExp(`Clients +take ${server.url} as their host, and any write key`));
    await server.printed(new RegExp(`Look at +${server.url}/ for deliveries`));
    receiver.answers.push(503);
    await batch(server.url, ["a"]);
    await server.printed(
      /^[\d:]{8} [\da-f]{4} track "Ordered" u {2}503 in [\d.]+ m?s {2}again in [\d.]+ s \(2nd try, until \d\d:\d\d\)$/m,
    );
    await batch(server.url, ["b"]);
    await server.printed(/^[\d:]{8} [\da-f]{4} track "Ordered" u {2}204 in [\d.]+ m?s$/m);
    await send(`${server.url}/v1/track`, { method: "POST", body: { writeKey: "any", userId: "u" } });
    await server.printed(/rejected {2}track: A track call needs the name of the event in `event`\./);
    expect(server.stdout()).not.toContain("\u001B");
  });

  it("lets no message write to the terminal", async () => {
    const receiver = closing(await startReceiver());
    const server = await startServe(["--to", receiver.url, "--secret", SECRET]);
    const body = { writeKey: "any", event: "\u001B[2J\u009B2J\r\nfake", userId: "u\u202Ereverse" };
    await send(`${server.url}/v1/track`, { method: "POST", body });
    await server.printed(/\\u001b\[2J\\\\u009b2J/);
    for (const control of ["\u001B", "\u009B", "\u202E", "\r"])
      expect(server.stdout()).not.toContain(control);
  });

  it("prints JSON lines with --json", async () => {
    const receiver = closing(await startReceiver());
    const server = startCommand(["serve", "--port", "0", "--json", "--to", receiver.url, "--secret", SECRET]);
    const [line] = await server.printed(/^.*listening.*$/m);
    const { url } = JSON.parse(line) as { url: string };
    await batch(url, ["a"]);
    await server.printed(/"event":"delivered"/);
    const events = server
      .stdout()
      .trim()
      .split("\n")
      .map((text) => (JSON.parse(text) as { event: string }).event);
    expect(events).toEqual(["listening", "accepted", "attempt", "delivered"]);
  });
});

describe("a config file", () => {
  const config = (url: string): string => `
    import type { Config } from "countersign";
    const destination = { endpoints: [{ url: ${JSON.stringify(url)} }], secret: ${JSON.stringify(SECRET)} };
    export default {
      sources: [
        { name: "shop", writeKey: "shop-key", destinations: [destination] },
        { name: "blog", writeKey: "blog-key", destinations: [destination] },
      ],
      data: "kept",
    } satisfies Config;
  `;

  it("in TypeScript is found above, inside the repository; its paths are relative to it, and options win", async () => {
    const receiver = closing(await startReceiver());
    const directory = temporaryDirectory();
    writeFileSync(join(directory, "countersign.config.ts"), config(receiver.url));
    await mkdir(join(directory, ".git"));
    const cwd = join(directory, "a", "b");
    await mkdir(cwd, { recursive: true });
    const server = await startServe([], { cwd, env: { COUNTERSIGN_SECRET: "of something else" } });
    await server.printed(/Forwards +shop\/webhooks[^]*Forwards +blog\/webhooks/);
    await server.printed(/Set up by + .*countersign\.config\.ts/);
    await server.printed(
      new RegExp(`Clients +take ${server.url} as their host, and the write key of a source`),
    );
    expect(existsSync(join(directory, "kept", "deliveries.db"))).toBe(true);
    await send(`${server.url}/v1/track`, { method: "POST", body: { ...track("a"), writeKey: "blog-key" } });
    await send(`${server.url}/v1/track`, { method: "POST", body: { ...track("b"), writeKey: "other" } });
    await server.printed(/rejected {2}track: No source has this write key\./);
    await vi.waitFor(() => expect(receiver.webhooks).toHaveLength(1));

    const other = await startServe(["--to", receiver.url, "--data", join(directory, "other")], { cwd });
    await other.printed(/Forwards +default\/webhooks .* \(not signed\)/);
    expect(other.stdout()).not.toContain("shop");
  });

  it.each([
    ["countersign.config.js", (url: string) => `export default { to: ${JSON.stringify(url)} };`],
    ["countersign.config.mjs", (url: string) => `export default { to: ${JSON.stringify(url)} };`],
    ["countersign.config.json", (url: string) => JSON.stringify({ to: [url] })],
  ])("may be %s", async (name, content) => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, name), content("http://127.0.0.1:9/hooks"));
    const server = await startServe([], { cwd });
    await server.printed(/Try it/);
    expect(server.stdout()).toMatch(
      /^Forwards +default\/webhooks to http:\/\/127\.0\.0\.1:9\/hooks \(not signed\)$/m,
    );
  });
});

describe.skipIf(isWindows)(`without file descriptors${noPosix}`, () => {
  it("says so, and closes idle connections for those that send", async () => {
    const server = await startServe(["--to", "http://127.0.0.1:9/"], { openFiles: 200 });
    const idle = Array.from({ length: 300 }, () => connect(Number(new URL(server.url).port), "127.0.0.1"));
    cleanUp(() => idle.forEach((socket) => socket.destroy()));
    for (const socket of idle) socket.on("error", () => {});
    await server.printed(
      /Almost no file descriptors are left, .* ulimit -n 65536, or lower --max-connections\./,
    );
    const statuses: number[] = [];
    for (const id of ["a", "b", "c"]) {
      const body = { writeKey: "any", ...track(id) };
      statuses.push((await send(`${server.url}/v1/track`, { method: "POST", body })).status);
    }
    expect(statuses).toEqual([200, 200, 200]);
  });

  // Only Linux says how many files a process may have.
  it.runIf(process.platform === "linux")(
    "delivers while clients take every connection they can get",
    async () => {
      const receiver = closing(await startReceiver());
      const args = ["--to", receiver.url, "--secret", SECRET];
      const server = await startServe(args, { openFiles: 200 });
      const open = new Set<Socket>();
      const insist = (): void => {
        const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
        open.add(socket.on("error", () => {}).once("close", () => open.delete(socket) && insist()));
      };
      cleanUp(() => {
        const sockets = [...open];
        open.clear();
        for (const socket of sockets) socket.destroy();
      });
      for (let client = 0; client < 250; client += 1) insist();
      await server.printed(/Almost no file descriptors are left/);
      const ids = Array.from({ length: 10 }, (_, index) => `m${index}`);
      // A client whose connection is closed sends again; the server knows a repeat.
      const insistOn = async (id: string): Promise<void> => {
        const body = { writeKey: "any", ...track(id) };
        await vi.waitFor(() => send(`${server.url}/v1/track`, { method: "POST", body }));
      };
      await Promise.all(ids.map(insistOn));
      // Each at the first attempt: the next would be minutes later.
      await vi.waitFor(() => expect(receiver.webhooks).toHaveLength(10));
      expect(server.stdout()).not.toContain("again in");
    },
  );
});

describe("under Node's permission model", () => {
  it("keeps calls, rejected messages and settings", async () => {
    const data = join(temporaryDirectory(), "data");
    const env = { NODE_OPTIONS: UNDER_PERMISSIONS.join(" ") };
    const { url } = await startServe(["--to", "http://127.0.0.1:9/", "--data", data], { env });
    const post = async (body: object): Promise<number> =>
      (await send(`${url}/v1/track`, { method: "POST", body: { writeKey: "any", ...body } })).status;
    expect([await post(track("m1")), await post({ userId: "u1" })]).toEqual([200, 200]);
    expect((await send(`${url}/api/rejections`)).json()).toMatchObject([{ reason: "missing_event" }]);
    const saved = await send(`${url}/api/sources/shop`, { method: "PUT", body: {} });
    expect(saved.status).toBe(200);
    expect(readFileSync(join(data, "settings.json"), "utf8")).toContain("shop");
  });
});

describe("--record and replay", () => {
  it("give a receiver the same bytes again", async () => {
    const receiver = closing(await startReceiver());
    const cwd = temporaryDirectory();
    const file = join(cwd, "traffic.jsonl");
    writeFileSync(join(cwd, "countersign.config.json"), '{"retry":{"firstDelayMs":50}}');
    const server = await startServe(["--to", receiver.url, "--secret", SECRET, "--record", file], { cwd });
    receiver.answers.push(503);
    const odd = {
      type: "track",
      event: "Café ☕ \u2028",
      userId: "u",
      messageId: "odd",
      properties: { __proto__x: 1, n: 1e21 },
    };
    await send(`${server.url}/v1/batch`, {
      method: "POST",
      body: { writeKey: "any", batch: [odd, track("b")] },
    });
    await server.printed(/again in/);
    await vi.waitFor(() => expect(receiver.webhooks).toHaveLength(2));
    server.process.kill("SIGTERM");
    await server.ended;
    // One line for each message: the retry has the same bytes.
    const lines = readFileSync(file, "utf8").trim().split("\n");
    expect(lines).toHaveLength(2);

    const again = closing(await startReceiver());
    const replayed = await runCommand(["replay", file, "--to", again.url]);
    expect(replayed).toEqual({ code: 0, stdout: "2 sent, 2 answered 2xx, 0 not.\n", stderr: "" });
    expect(again.webhooks.map((message) => "messageId" in message && message.messageId)).toEqual([
      "odd",
      "b",
    ]);
    expect(again.webhooks[0]).toMatchObject({ event: odd.event, properties: odd.properties });
  });
});
