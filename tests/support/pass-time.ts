import { onTestFinished, vi } from "vitest";

let passed: number | undefined;

/** Lets time pass for what measures it by `performance.now()`, without waiting, until the end of the test. */
export function passTime(ms: number): void {
  if (passed === undefined) {
    const now = performance.now.bind(performance);
    const later = vi.spyOn(performance, "now").mockImplementation(() => now() + (passed ?? 0));
    onTestFinished(() => {
      later.mockRestore();
      passed = undefined;
    });
  }
  passed = (passed ?? 0) + ms;
}
