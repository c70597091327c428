import type { Socket } from "node:net";
import type { Agents } from "./agents.ts";
import { exchange } from "./exchange.ts";
import type { AttemptRequest, AttemptResult, BodyWriter, SendOptions } from "./transport.ts";

/** One request whose body is written by `writeBody`, over a connection that no other attempt uses. */
export async function exchangeAlone(
  writeBody: BodyWriter,
  agents: Agents,
  request: AttemptRequest,
  options: SendOptions,
): Promise<AttemptResult> {
  let socket: Socket | null = null;
  const agent = agents.ofItsOwn(request.ca, (connected) => {
    socket = connected;
  });
  const over = new AbortController();
  const body = writeBody(request.body, {
    socket: () => socket ?? undefined,
    over: over.signal,
    timeoutMs: options.timeoutMs,
  });
  const headers = { ...request.headers, "content-length": String(request.body.length) };
  const result = await exchange(agent, request, { body, headers }, options);
  over.abort();
  await agents.discard(agent);
  return result;
}
