import { afterEach, expect, it, vi } from "vitest";
import { untilToldToStop } from "../../src/terminal/signals.ts";

const SIGNALS = ["SIGTERM", "SIGINT", "SIGBREAK"] as const;
const before = new Map(SIGNALS.map((name) => [name, process.listeners(name)]));

afterEach(() => {
  vi.restoreAllMocks();
  for (const name of SIGNALS)
    for (const listener of process.listeners(name))
      if (!before.get(name)?.includes(listener)) process.off(name, listener);
});

// SIGBREAK cannot be sent here: only Windows has it, for Ctrl-Break.
it.each(SIGNALS)("%s stops a command, and another one ends it with the exit code of shells", async (name) => {
  const exit = vi.spyOn(process, "exit").mockImplementation((() => {}) as () => never);
  const stopped = untilToldToStop();
  process.emit(name, name);
  await expect(stopped).resolves.toBe(name);
  expect(exit).not.toHaveBeenCalled();
  process.emit(name, name);
  expect(exit).toHaveBeenCalledWith({ SIGTERM: 143, SIGINT: 130, SIGBREAK: 149 }[name]);
});

it("a key stops a command, too", async () => {
  await expect(untilToldToStop(Promise.resolve("q"))).resolves.toBe("q");
});
