import type { Socket } from "node:net";
import { CUT_CODE, cutOnPurpose, faultyBody, type WireFault } from "../faults/wire-fault.ts";
import type { Agents } from "./agents.ts";
import { exchange } from "./exchange.ts";
import type { AttemptRequest, AttemptResult, SendOptions } from "./transport.ts";

/** One request with a fault on the wire, over a connection that no other attempt uses. */
export async function exchangeWithFault(
  fault: WireFault,
  agents: Agents,
  request: AttemptRequest,
  options: SendOptions,
): Promise<AttemptResult> {
  let socket: Socket | null = null;
  const agent = agents.ofItsOwn(request.ca, (connected) => {
    socket = connected;
  });
  const over = new AbortController();
  const body = faultyBody(fault, request.body, {
    socket: () => socket ?? undefined,
    over: over.signal,
    timeoutMs: options.timeoutMs,
  });
  const headers = { ...request.headers, "content-length": String(request.body.length) };
  const result = await exchange(agent, request, { body, headers }, options);
  over.abort();
  await agents.discard(agent);
  return judgeCut(fault, result);
}

/**
 * Refusing half a message is not refusing the message: it goes out again, as after any cut connection. Accepting half
 * of one stays a success, for everyone to see.
 */
function judgeCut(fault: WireFault, result: AttemptResult): AttemptResult {
  if (fault === "slow_body" || result.outcome !== "rejected" || result.status === undefined) {
    return result;
  }
  const message = `${cutOnPurpose(fault)}; the endpoint answered ${result.status}`;
  return { ...result, outcome: "network", code: CUT_CODE, message };
}
