import { afterEach, expect, it, vi } from "vitest";
import { isWindows, noPosix } from "../../../core/test/support/windows.ts";
import { startCommand, startServe } from "../support/command.ts";
import { startSilentReceiver } from "../support/silent-receiver.ts";
import { untilToldToStop } from "../../src/terminal/signals.ts";

const SIGNALS = ["SIGTERM", "SIGINT", "SIGBREAK", "SIGHUP"] as const;
const before = new Map(SIGNALS.map((name) => [name, process.listeners(name)]));

afterEach(() => {
  vi.restoreAllMocks();
  for (const name of SIGNALS)
    for (const listener of process.listeners(name))
      if (!before.get(name)?.includes(listener)) process.off(name, listener);
});

// What only Windows sends is emitted here: Ctrl-Break, and a console window that is closed.
it.each([
  ["SIGTERM", "linux"],
  ["SIGINT", "linux"],
  ["SIGINT", "win32"],
  ["SIGBREAK", "win32"],
] as const)(
  "%s on %s stops a command, and another one ends it with the exit code of shells",
  async (name, platform) => {
    const exit = vi.spyOn(process, "exit").mockImplementation((() => {}) as () => never);
    const stopped = untilToldToStop(undefined, platform);
    process.emit(name, name);
    await expect(stopped).resolves.toBe(name);
    expect(exit).not.toHaveBeenCalled();
    process.emit(name, name);
    expect(exit).toHaveBeenCalledWith({ SIGTERM: 143, SIGINT: 130, SIGBREAK: 149 }[name]);
  },
);

it.each(["linux", "win32"] as const)(
  "SIGHUP on %s stops a command, and cuts none short that stops: shell, terminal and systemd may all send it",
  async (platform) => {
    const exit = vi.spyOn(process, "exit").mockImplementation((() => {}) as () => never);
    const stopped = untilToldToStop(undefined, platform);
    process.emit("SIGHUP", "SIGHUP");
    await expect(stopped).resolves.toBe("SIGHUP");
    process.emit("SIGHUP", "SIGHUP");
    expect(exit).not.toHaveBeenCalled();
    process.emit("SIGTERM", "SIGTERM");
    expect(exit).toHaveBeenCalledWith(143);
  },
);

it("a key stops a command, too", async () => {
  await expect(untilToldToStop(Promise.resolve("q"))).resolves.toBe("q");
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
