import { afterEach, expect, it, vi } from "vitest";
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
  ["SIGHUP", "win32"],
] as const)(
  "%s on %s stops a command, and another one ends it with the exit code of shells",
  async (name, platform) => {
    const exit = vi.spyOn(process, "exit").mockImplementation((() => {}) as () => never);
    const stopped = untilToldToStop(undefined, platform);
    process.emit(name, name);
    await expect(stopped).resolves.toBe(name);
    expect(exit).not.toHaveBeenCalled();
    process.emit(name, name);
    expect(exit).toHaveBeenCalledWith({ SIGTERM: 143, SIGINT: 130, SIGBREAK: 149, SIGHUP: 129 }[name]);
  },
);

it("SIGHUP is left to the system elsewhere, so that a command under nohup runs on", () => {
  const listeners = process.listenerCount("SIGHUP");
  void untilToldToStop(undefined, "linux");
  expect(process.listenerCount("SIGHUP")).toBe(listeners);
});

it("a key stops a command, too", async () => {
  await expect(untilToldToStop(Promise.resolve("q"))).resolves.toBe("q");
});
