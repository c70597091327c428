import { spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, expect, it, type MockInstance, vi } from "vitest";
import { isWindows, noPosix } from "../../../core/test/support/windows.ts";
import { asData } from "../../../../tests/support/resolve-otherwise.ts";
import { cleanUp } from "../../../../tests/support/resources.ts";
import { startCommand, startServe } from "../support/command.ts";
import { startSilentReceiver } from "../support/silent-receiver.ts";
import { untilToldToStop } from "../../src/terminal/signals.ts";

const SIGNALS = ["SIGTERM", "SIGINT", "SIGBREAK", "SIGHUP"] as const;
const before = new Map(SIGNALS.map((name) => [name, process.listeners(name)]));

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  for (const name of SIGNALS)
    for (const listener of process.listeners(name))
      if (!before.get(name)?.includes(listener)) process.off(name, listener);
});

/** Catches the end of this process. Time passes only when it is advanced. */
function spyOnExit(): MockInstance {
  vi.useFakeTimers();
  return vi.spyOn(process, "exit").mockImplementation((() => {}) as () => never);
}

// What only Windows sends is emitted here: Ctrl-Break, and a console window that is closed.
it.each([
  ["SIGTERM", "linux"],
  ["SIGINT", "linux"],
  ["SIGINT", "win32"],
  ["SIGBREAK", "win32"],
] as const)(
  "%s on %s stops a command, and another one ends it with the exit code of shells",
  async (name, platform) => {
    const exit = spyOnExit();
    const stopped = untilToldToStop(undefined, platform);
    process.emit(name, name);
    await expect(stopped).resolves.toBe(name);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(exit).not.toHaveBeenCalled();
    process.emit(name, name);
    expect(exit).toHaveBeenCalledWith({ SIGTERM: 143, SIGINT: 130, SIGBREAK: 149 }[name]);
  },
);

it.each(["linux", "win32"] as const)(
  "SIGHUP on %s stops a command, and cuts none short that stops: shell, terminal and systemd may all send it",
  async (platform) => {
    const exit = spyOnExit();
    const stopped = untilToldToStop(undefined, platform);
    process.emit("SIGHUP", "SIGHUP");
    await expect(stopped).resolves.toBe("SIGHUP");
    process.emit("SIGHUP", "SIGHUP");
    // systemd sends it right after.
    process.emit("SIGTERM", "SIGTERM");
    await vi.advanceTimersByTimeAsync(1_000);
    process.emit("SIGHUP", "SIGHUP");
    expect(exit).not.toHaveBeenCalled();
    process.emit("SIGTERM", "SIGTERM");
    expect(exit).toHaveBeenCalledWith(143);
  },
);

it("one Ctrl-C that comes several times, as under concurrently and nodemon, cuts nothing short; a person who insists does", async () => {
  const exit = spyOnExit();
  void untilToldToStop();
  for (const name of ["SIGINT", "SIGINT", "SIGTERM"] as const) {
    process.emit(name, name);
    await vi.advanceTimersByTimeAsync(60);
  }
  await vi.advanceTimersByTimeAsync(60);
  expect(exit).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(60);
  process.emit("SIGINT", "SIGINT");
  expect(exit).toHaveBeenCalledWith(130);
});

it.skipIf(isWindows)(
  `a signal that comes twice is one also for a process that could not read it sooner${noPosix}`,
  async () => {
    const script = `
      import { untilToldToStop } from ${JSON.stringify(new URL("../../dist/terminal/signals.js", import.meta.url).href)};
      setInterval(() => {}, 60_000);
      process.on("SIGTERM", () => setImmediate(() => process.exit(0)));
      void untilToldToStop().then(() => {
        process.kill(process.pid, "SIGTERM");
        const until = performance.now() + 300;
        while (performance.now() < until);
      });
      process.kill(process.pid, "SIGINT");`;
    const child = spawn(process.execPath, ["--input-type=module", "--eval", script], { stdio: "inherit" });
    cleanUp(() => child.kill("SIGKILL"));
    const [code] = await once(child, "close");
    expect(code).toBe(0);
  },
);

// What passes a signal on sends it when the process may already have handled the first one.
const PASSED_ON = {
  NODE_OPTIONS:
    "--import=data:text/javascript,process.on('SIGINT',()=>setImmediate(()=>process.kill(process.pid,'SIGTERM')))",
};

it.skipIf(isWindows)(
  `serve finishes the attempt that is under way although Ctrl-C comes twice${noPosix}`,
  async () => {
    const { url, requested } = await startSilentReceiver();
    const server = await startServe(["--to", url], { env: PASSED_ON });
    await fetch(`${server.url}/v1/track`, {
      method: "POST",
      headers: { authorization: `Basic ${btoa("key:")}`, "content-type": "application/json" },
      body: JSON.stringify({ userId: "u1", event: "Ordered" }),
    });
    const connection = await requested;
    server.process.kill("SIGINT");
    await server.printed(/SIGINT: waiting for running requests and attempts/);
    connection.end("HTTP/1.1 204 No Content\r\n\r\n");
    expect(await server.ended).toBe(0);
    expect(server.stdout()).toContain("1 accepted, 1 delivered");
  },
);

// Another process sends it again and again, from the moment in which this one ends until it has ended.
const AT_THE_END = {
  NODE_OPTIONS: `--import=${asData(`
    import { spawn } from "node:child_process";
    const again = 'while kill -INT "$0"; do :; done';
    process.once("exit", () => spawn("sh", ["-c", again, process.pid], { detached: true, stdio: "ignore" }));`)}`,
};

it.skipIf(isWindows)(
  `a server that was told to stop ends with 0 although Ctrl-C comes again at its very end${noPosix}`,
  async () => {
    const server = await startServe(["--to", "http://127.0.0.1:1/"], { env: AT_THE_END });
    server.process.kill("SIGINT");
    expect(await server.ended).toBe(0);
  },
);

it("a key stops a command, too, and the first signal after it ends it at once", async () => {
  const exit = spyOnExit();
  await expect(untilToldToStop(Promise.resolve("q"))).resolves.toBe("q");
  process.emit("SIGINT", "SIGINT");
  expect(exit).toHaveBeenCalledWith(130);
});

// The system has no default for the first process of a container: what ends the others does nothing there.
const AS_FIRST = {
  NODE_OPTIONS: "--import=data:text/javascript,Object.defineProperty(process,'pid',{value:1})",
};

it.skipIf(isWindows).each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const)(
  `%s ends a command that is the first process of a container, as docker run makes it${noPosix}`,
  async (signal, code) => {
    const { url, requested } = await startSilentReceiver();
    const command = startCommand(["send", "track", "--to", url, "--secret", "s"], { env: AS_FIRST });
    await requested;
    command.process.kill(signal);
    // Else it is the signal.
    expect(await command.ended).toBe(code);
  },
);

it.skipIf(isWindows)(
  `the first process of a container still stops in an orderly way if it serves${noPosix}`,
  async () => {
    const server = await startServe(["--to", "http://127.0.0.1:1/"], { env: AS_FIRST });
    server.process.kill("SIGTERM");
    expect(await server.ended).toBe(0);
  },
);
