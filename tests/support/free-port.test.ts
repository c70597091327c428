import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { freePort } from "./free-port.ts";

const RANGE = "/proc/sys/net/ipv4/ip_local_port_range";

describe("a port that is free", () => {
  it.runIf(existsSync(RANGE))(
    "is none that the system gives to another test, so that it is still free when it is used",
    async () => {
      const [lowest = 0] = readFileSync(RANGE, "utf8").split(/\s+/u).map(Number);
      for (let count = 0; count < 20; count += 1) expect(await freePort()).toBeLessThan(lowest);
    },
  );

  it("is given once, and to one of the workers that run at the same time", async () => {
    const given = new Set<number>();
    onTestFinished(() => void vi.unstubAllEnvs());
    for (const worker of ["1", "2", "3"]) {
      vi.stubEnv("VITEST_POOL_ID", worker);
      vi.resetModules();
      const own = await import("./free-port.ts");
      for (let count = 0; count < 20; count += 1) given.add(await own.freePort());
    }
    expect(given.size).toBe(60);
  });
});
