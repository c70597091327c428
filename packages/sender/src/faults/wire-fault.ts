import { performance } from "node:perf_hooks";
import { TLSSocket } from "node:tls";
import type { Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import type { AttemptResult, BodyWriter, Wire } from "../transport/transport.ts";
import type { Fault } from "./fault.ts";

/** The faults that are made on the wire, after the request has been built. */
export type WireFault = Extract<Fault, "slow_body" | "truncated" | "reset">;

/** The code of a connection that a fault has cut: the receiver sees the same. */
const CUT_CODE = "ECONNRESET";

/** What the log says about a connection that a fault has cut. */
function cutOnPurpose(fault: WireFault): string {
  return `the connection was cut on purpose (fault: ${fault})`;
}

/** Writes a body as a fault lets it out, ending or breaking the connection where it has to. */
export function writeBodyOf(fault: WireFault): BodyWriter {
  return (body, wire) => faultyBody(fault, body, wire);
}

/**
 * A receiver that rejects half a message has not rejected the message: it goes out again, as after any cut connection.
 * A receiver that accepts half a message keeps the outcome `success`, for everyone to see.
 */
export function judgeCut(fault: Fault, result: AttemptResult): AttemptResult {
  const isCut = fault === "truncated" || fault === "reset";
  if (!isCut || result.outcome !== "rejected" || result.status === undefined) return result;
  const message = `${cutOnPurpose(fault)}; the endpoint answered ${result.status}`;
  return { ...result, outcome: "network", code: CUT_CODE, message };
}

const SLOW_PIECES = 20;
const SLOW_BODY_MS = 1_000;
// A reset overtakes bytes the receiver has not read yet. The pause lets it read, so that it sees half a message.
const BEFORE_RESET_MS = 50;

async function* faultyBody(fault: WireFault, body: Uint8Array, wire: Wire): AsyncGenerator<Uint8Array> {
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
  const startedAt = performance.now();
  for (let start = 0; start < body.length; start += size) {
    // Until the time of this piece: timers that are late, as on a busy machine, would add up to more than that half.
    const early = startedAt + interval * (start / size) - performance.now();
    if (early > 0) await pause(early, undefined, { signal: over });
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
