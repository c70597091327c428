import { TLSSocket } from "node:tls";
import type { Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import type { Fault } from "./fault.ts";

/** The faults that are made on the wire, after the request has been built. */
export type WireFault = Extract<Fault, "slow_body" | "truncated" | "reset">;

/** Whether a fault is the transport's to make. */
export function isWireFault(fault: Fault | undefined): fault is WireFault {
  return fault === "slow_body" || fault === "truncated" || fault === "reset";
}

/** The code of a connection that a fault has cut: the one that the receiver sees as well. */
export const CUT_CODE = "ECONNRESET";

/** What to tell of a connection that a fault has cut. */
export function cutOnPurpose(fault: WireFault): string {
  return `the connection was cut on purpose (fault: ${fault})`;
}

/** The connection a fault is made on. */
export interface Wire {
  readonly socket: () => Socket | undefined;
  /** Aborted when the attempt has ended: every wait ends with it. */
  readonly over: AbortSignal;
  /** Milliseconds the endpoint has to respond. */
  readonly timeoutMs: number;
}

const SLOW_PIECES = 20;
const SLOW_BODY_MS = 1_000;
// A reset overtakes bytes the receiver has not read yet. The pause lets it read, so that it sees half a message.
const BEFORE_RESET_MS = 50;

/** The bytes of a body as a fault lets them out, ending or breaking the connection where it has to. */
export async function* faultyBody(
  fault: WireFault,
  body: Uint8Array,
  wire: Wire,
): AsyncGenerator<Uint8Array> {
  if (fault === "slow_body") {
    yield* slowly(body, wire);
    return;
  }
  yield body.subarray(0, Math.floor(body.length / 2));
  const socket = wire.socket();
  if (fault === "truncated") {
    socket?.end();
    // The answer may still come: the connection is closed in one direction only.
    await ended(wire.over);
  } else {
    await pause(BEFORE_RESET_MS, undefined, { signal: wire.over });
    reset(socket);
  }
  throw Object.assign(new Error(cutOnPurpose(fault)), { code: CUT_CODE });
}

async function* slowly(body: Uint8Array, { over, timeoutMs }: Wire): AsyncGenerator<Uint8Array> {
  const size = Math.max(1, Math.ceil(body.length / SLOW_PIECES));
  // Half of the time at most, so that a receiver that waits for the whole body can still answer in time.
  const interval = Math.min(SLOW_BODY_MS, timeoutMs / 2) / SLOW_PIECES;
  for (let start = 0; start < body.length; start += size) {
    if (start > 0) {
      await pause(interval, undefined, { signal: over });
    }
    yield body.subarray(start, start + size);
  }
}

function reset(socket: Socket | undefined): void {
  // Only a plain TCP socket can send a reset. A TLS connection is cut without its closing message instead.
  if (socket instanceof TLSSocket) {
    socket.destroy();
  } else {
    socket?.resetAndDestroy();
  }
}

function ended(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
    } else {
      signal.addEventListener("abort", () => resolve(), { once: true });
    }
  });
}
