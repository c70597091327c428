import { vi } from "vitest";

// Vitest has no setting for this. As `expect.poll` in vitest.shared.ts.
const TIMEOUT = 25_000;

const { waitFor } = vi;

/** `vi.waitFor` that waits as long as a test may. */
export const patientWaitFor: typeof vi.waitFor = (callback, options) =>
  waitFor(callback, typeof options === "number" ? options : { timeout: TIMEOUT, ...options });
