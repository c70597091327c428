import { execFile, spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { isWindows, noPosix } from "../../core/test/support/windows.ts";
import { closedEndpoint, startService } from "./support/service.ts";

interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly output: string;
  /** Milliseconds from the start, or from the given moment, to the end. */
  readonly took: number;
}

interface Child {
  readonly process: ChildProcess;
  readonly output: () => string;
  readonly ended: (since?: number) => Promise<Ended>;
}

/** What runs a program as the first process of a container, where this user may. */
const AS_FIRST = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child"];
/** What runs a program as the worker of a cluster. */
const AS_WORKER = [process.execPath, fileURLToPath(new URL("support/child-cluster.mjs", import.meta.url))];
const isFirstHere = spawnSync([...AS_FIRST, "true"].join(" "), { shell: true }).status === 0;
const notFirst = isFirstHere ? "" : " (skipped: unshare gives no namespace of processes)";

function start(
  way: string,
  endpoint: string,
  exitTimeout = 500,
  other = "",
  runner: readonly string[] = [],
): Child {
  const script = fileURLToPath(new URL("support/child-exits.mjs", import.meta.url));
  const [program, ...args] = [...runner, process.execPath, script, way, endpoint, String(exitTimeout), other];
  const startedAt = Date.now();
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"], detached: runner === AS_WORKER });
  onTestFinished(() => void child.kill("SIGKILL"));
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
  // Some of its output may come after its exit.
  const closed = once(child, "close") as Promise<[number | null, NodeJS.Signals | null]>;
  return {
    process: child,
    output: () => output,
    async ended(since = startedAt) {
      const [code, signal] = await closed;
      return { code, signal, output, took: Date.now() - since };
    },
  };
}

/** Insists: a signal that comes at once after the first is no second one. */
async function killUntilEnded({ process: child }: Child): Promise<void> {
  await vi.waitFor(() => {
    child.kill("SIGTERM");
    expect(child.signalCode).toBe("SIGTERM");
  });
}

/** As an `exitTimeout`: a process that waits for it does not end before the test fails. */
const AN_HOUR = 3_600_000;

describe("a process that ends by itself", () => {
  it("delivers the three events it queued, and waits for no timer", async () => {
    const service = await startService();
    const { code, output } = await start("return", service.url, AN_HOUR).ended();
    expect({ code, output }).toEqual({ code: 0, output: "" });
    expect(service.messages.map((message) => message.event)).toEqual(["Event 0", "Event 1", "Event 2"]);
  });

  it("goes on from an awaited receipt, although the timer of the flush does not hold it", async () => {
    const service = await startService();
    const { code, output } = await start("await-receipt", service.url, AN_HOUR).ended();
    expect({ code, output }).toEqual({ code: 0, output: "delivered" });
  });

  it("delivers what is recorded at the very end", async () => {
    const service = await startService();
    await start("records-at-exit", service.url, AN_HOUR).ended();
    expect(service.messages.map((message) => message.event)).toContain("At exit");
  });

  it("retries a service that fails a few times", async () => {
    const service = await startService();
    let failures = 2;
    service.answer = (_, response) => {
      failures -= 1;
      if (failures === 0) service.answer = undefined;
      response.writeHead(503, { "retry-after": "0" }).end();
    };
    const { code } = await start("return", service.url, AN_HOUR).ended();
    expect(code).toBe(0);
    expect(service.messages).toHaveLength(3);
  });

  it("is held for exitTimeout, and no longer, by a service that is down", async () => {
    const { code, output, took } = await start("return", await closedEndpoint()).ended();
    expect({ code, output }).toEqual({ code: 0, output: "" });
    expect(took).toBeGreaterThan(400);
    // It ends at all: its retries would go on for an hour.
  });

  it("is held for exitTimeout also by a client whose clock is virtual and stands still", async () => {
    const { code, output } = await start("return-virtual", await closedEndpoint()).ended();
    expect({ code, output }).toEqual({ code: 0, output: "" });
  });

  it.each([
    ["by itself", "return-records-drops", "deadline"],
    ["at once", "exit-records-drops", "exit"],
  ])(
    "ends %s although a hook records each drop, and says what became of that",
    async (_name, way, reason) => {
      const { output } = await start(way, await closedEndpoint()).ended();
      expect(output.trim().split("\n")).toEqual(Array.from({ length: 3 }, () => `${reason} ${reason}`));
    },
  );

  it("is held by close() while it retries", async () => {
    const service = await startService();
    service.answer = (_, response) => {
      service.answer = undefined;
      response.writeHead(503, { "retry-after": "1" }).end();
    };
    const { output } = await start("close", service.url).ended();
    expect(JSON.parse(output)).toEqual({ delivered: 3, failed: 0, dropped: 0, pending: 0 });
  });
});

describe("a process that ends at once", () => {
  it.each([
    ["process.exit()", "at-once-exit", 3],
    ["process.exit(), with a request in flight", "at-once-in-flight", 3],
    ["an uncaught exception", "at-once-throw", 1],
  ])("passes what it could not send to onDrop: %s", async (_name, way, code) => {
    const service = await startService();
    service.answer = () => {};
    const ended = await start(way, service.url).ended();
    const dropped = ended.output.split("\n").filter((line) => line.startsWith("exit "));
    expect({ code: ended.code, dropped }).toEqual({
      code,
      dropped: ["exit Event 0", "exit Event 1", "exit Event 2"],
    });
  });

  it.each([
    ["nothing", "at-once-nothing-in-handler", []],
    ["other events", "at-once-exit-in-handler", ["exit Event 0", "exit Event 1", "exit Event 2"]],
  ])("with %s queued, passes to onDrop what an exit handler records", async (_name, way, queued) => {
    const { code, output } = await start(way, await closedEndpoint()).ended();
    expect({ code, lines: output.trim().split("\n") }).toEqual({
      code: 3,
      lines: [...queued, "exit In the handler", "outcome exit"],
    });
  });

  it("passes what is queued to onDrop also if a hook ends it", async () => {
    const service = await startService();
    service.answer = (_, response) => void response.writeHead(401).end();
    const { code, output } = await start("at-once-in-hook", service.url).ended();
    expect({ code, output }).toEqual({ code: 3, output: "exit Queued\n" });
  });

  it("passes nothing to onDrop that was delivered before", async () => {
    const service = await startService();
    const { code, output } = await start("at-once-delivered", service.url).ended();
    expect({ code, output }).toEqual({ code: 3, output: "" });
    expect(service.messages).toHaveLength(3);
  });
});

describe.skipIf(isWindows)(`with flushOnSignals${noPosix}`, () => {
  it.each(["SIGTERM", "SIGINT"] as const)(
    "%s delivers the three events, and ends as if unhandled, without waiting for a timer",
    async (name) => {
      const service = await startService();
      const child = start("signal", service.url, AN_HOUR);
      await vi.waitFor(() => expect(child.output()).toBe("ready"));
      child.process.kill(name);
      const { signal } = await child.ended();
      expect(signal).toBe(name);
      expect(service.messages).toHaveLength(3);
    },
  );

  it("a signal delivers, too, what is recorded while the events are being sent", async () => {
    const service = await startService();
    service.answer = (_, response) => {
      service.answer = undefined;
      response.writeHead(401).end();
    };
    const child = start("signal-rejected", service.url, AN_HOUR);
    await vi.waitFor(() => expect(child.output()).toBe("ready"));
    child.process.kill("SIGTERM");
    await child.ended();
    expect(service.messages.map((message) => message.event)).toEqual([
      "Rejected m0",
      "Rejected m1",
      "Rejected m2",
    ]);
  });

  it("an application that handles the signal itself ends the process itself, in its own time", async () => {
    const service = await startService();
    service.answer = (_, response) => {
      service.answer = undefined;
      // Longer than exitTimeout.
      response.writeHead(503, { "retry-after": "1" }).end();
    };
    const child = start("signal-shared", service.url);
    await vi.waitFor(() => expect(child.output()).toBe("ready"));
    child.process.kill("SIGTERM");
    const { code } = await child.ended();
    expect(code).toBe(7);
    expect(service.messages.map((message) => message.event)).toContain("In the handler");
    expect(service.messages).toHaveLength(4);
  });

  it("what a hook gives to another client as it is dropped is sent, too", async () => {
    const service = await startService();
    const child = start("signal-backup", service.url, AN_HOUR, await closedEndpoint());
    await vi.waitFor(() => expect(child.output()).toBe("ready"));
    child.process.kill("SIGTERM");
    expect((await child.ended()).signal).toBe("SIGTERM");
    expect(service.messages.map((message) => message.event)).toContain("Kept m3");
  });

  it("a library that ends the process only if no one else listens does so at a later signal", async () => {
    const service = await startService();
    const child = start("signal-polite", service.url, AN_HOUR);
    await vi.waitFor(() => expect(child.output()).toBe("ready"));
    await killUntilEnded(child);
    expect(service.messages).toHaveLength(3);
  });

  it("a hook that records each drop a little later does not keep the process", async () => {
    const child = start("signal-records-later", await closedEndpoint());
    await vi.waitFor(() => expect(child.output()).toBe("ready"));
    child.process.kill("SIGTERM");
    expect((await child.ended()).signal).toBe("SIGTERM");
  });

  it.each([
    ["ends the process", "signal-virtual", { code: null, signal: "SIGTERM" }],
    ["no longer listens, for an application that does", "signal-shared-virtual", { code: 7, signal: null }],
  ] as const)(
    "after exitTimeout a client %s also if its clock is virtual and stands still",
    async (_name, way, end) => {
      const child = start(way, await closedEndpoint());
      await vi.waitFor(() => expect(child.output()).toBe("ready"));
      child.process.kill("SIGTERM");
      expect(await child.ended()).toMatchObject(end);
    },
  );

  it("Ctrl-C delivers the three events also where another program passes it on, and it comes twice", async () => {
    const service = await startService();
    const { signal, output } = await start("signal-twice", service.url, AN_HOUR).ended();
    expect({ signal, output }).toEqual({ signal: "SIGINT", output: "ready" });
    expect(service.messages).toHaveLength(3);
  });

  it("a second signal passes what could not be sent to onDrop", async () => {
    const service = await startService();
    service.answer = () => {};
    const child = start("signal-drops", service.url, AN_HOUR);
    await vi.waitFor(() => expect(child.output()).toBe("ready"));
    child.process.kill("SIGTERM");
    await vi.waitFor(() => expect(service.requests).toHaveLength(1));
    await killUntilEnded(child);
    const { output } = await child.ended();
    expect(output).toBe("readyexit Event 0\nexit Event 1\nexit Event 2\n");
  });

  it.each([
    ["Ctrl-C ends the primary process, too", "SIGINT", true],
    ["the primary process dies", "SIGKILL", false],
  ] as const)("a worker of a cluster delivers the three events when %s", async (_name, signal, isForAll) => {
    const service = await startService();
    const child = start("signal", service.url, AN_HOUR, "", AS_WORKER);
    await vi.waitFor(() => expect(child.output()).toBe("ready"));
    const pid = child.process.pid ?? Number.NaN;
    process.kill(isForAll ? -pid : pid, signal);
    // The worker has ended, too, since its output has.
    expect(await child.ended()).toMatchObject({ signal, output: "ready" });
    expect(service.messages).toHaveLength(3);
  });

  it("a worker of a cluster ends by itself when it is told to disconnect", async () => {
    const service = await startService();
    const { code } = await start("worker-disconnects", service.url, AN_HOUR, "", AS_WORKER).ended();
    expect(code).toBe(0);
    expect(service.messages).toHaveLength(3);
  });

  it("a worker of a cluster whose service hangs ends exitTimeout after its primary process, and tells what it drops", async () => {
    const service = await startService();
    service.answer = () => {};
    const child = start("signal-drops", service.url, 500, "", AS_WORKER);
    await vi.waitFor(() => expect(child.output()).toBe("ready"));
    child.process.kill("SIGKILL");
    const { output } = await child.ended();
    expect(output).toBe("readydeadline Event 0\ndeadline Event 1\ndeadline Event 2\n");
  });

  it.skipIf(!isFirstHere)(
    `ends the first process of a container, which no signal ends by itself${notFirst}`,
    async () => {
      const service = await startService();
      const { code, output } = await start("signal-itself", service.url, AN_HOUR, "", AS_FIRST).ended();
      expect({ code, output }).toEqual({ code: 0, output: "ready" });
      expect(service.messages).toHaveLength(3);
    },
  );

  it("a service that hangs delays the end by exitTimeout, and a second signal not even that", async () => {
    const hung = createServer(() => {});
    await new Promise<void>((resolve) => hung.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void hung.close());
    const { port } = hung.address() as AddressInfo;
    for (const signals of [1, 2]) {
      const child = start("signal", `http://127.0.0.1:${port}`, signals === 1 ? 500 : AN_HOUR);
      await vi.waitFor(() => expect(child.output()).toBe("ready"));
      const connected = once(hung, "connection");
      const since = Date.now();
      child.process.kill("SIGTERM");
      await connected;
      if (signals === 2) await killUntilEnded(child);
      const { signal, took } = await child.ended(since);
      expect(signal).toBe("SIGTERM");
      if (signals === 1) expect(took).toBeGreaterThan(400);
    }
  });
});

/** In a process of its own: here, clients of other tests may listen. */
const LISTENERS = `
  import { Analytics } from "@countersign/client";
  import { memoryTransport } from "@countersign/client/testing";

  const tell = () => console.log(...["beforeExit", "SIGTERM", "SIGINT"].map((name) => process.listenerCount(name)));
  tell();
  const clients = Array.from({ length: 20 }, () => {
    return new Analytics("KEY", { transport: memoryTransport(), flushOnSignals: true });
  });
  for (const client of clients) client.track({ userId: "u1", event: "E" });
  tell();
  await Promise.all(clients.map((client) => client.close()));
  tell();
`;

it("clients leave no listener on the process", async () => {
  const cwd = fileURLToPath(new URL("..", import.meta.url));
  const args = ["--input-type=module", "--eval", LISTENERS];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd });
  expect(stdout).toBe("0 0 0\n1 1 1\n0 0 0\n");
});
