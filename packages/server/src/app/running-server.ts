import { checkOptionNames, DEADLINE_MS_SYNONYMS, parseJson, type OptionNames } from "@countersign/protocol";
import type { FastifyInstance } from "fastify";
import type { ApiContext } from "../api/operation.ts";
import type { CloseOptions, ControlAnswer, ControlMethod, CountersignServer } from "./server.ts";

const CLOSE_OPTIONS: OptionNames<CloseOptions> = { deadlineMs: DEADLINE_MS_SYNONYMS };
const DEFAULT_DEADLINE_MS = 10_000;

/** The parts of a running server. */
interface Parts {
  readonly url: string;
  readonly app: FastifyInstance;
  readonly token: string | undefined;
  readonly context: ApiContext;
}

/** The server as its caller sees it, once it listens. */
export function runningServer({ url, app, token, context }: Parts): CountersignServer {
  const { sender, ledger, forgeries, streams, certifications, resends, events } = context;
  let closing: Promise<void> | undefined;

  async function shutDown(deadlineMs: number): Promise<void> {
    const until = performance.now() + deadlineMs;
    const giveUp = setTimeout(() => app.server.closeAllConnections(), deadlineMs);
    streams.close();
    certifications.close();
    resends.close();
    await app.close();
    clearTimeout(giveUp);
    try {
      await sender.close({ deadline: Math.max(until - performance.now(), 0) });
    } finally {
      forgeries.close();
      await ledger.close();
    }
  }

  return {
    url,
    sender,
    subscribe: (listener, after) => events.subscribe(listener, after),
    control: (method, path, body) => controlOf(app, token, method, path, body),
    close(options = {}) {
      checkOptionNames("close()", options, CLOSE_OPTIONS);
      return (closing ??= shutDown(options.deadlineMs ?? DEFAULT_DEADLINE_MS));
    },
    [Symbol.asyncDispose]() {
      return this.close();
    },
  };
}

/** A request that takes the same way as those that come in over HTTP, the guard included. */
async function controlOf(
  app: FastifyInstance,
  token: string | undefined,
  method: ControlMethod,
  path: string,
  body: unknown,
): Promise<ControlAnswer> {
  if (/^\/+events\/*(?:\?|$)/.test(path)) {
    const detail =
      "control() waits for the end of an answer, and /events has none. Call subscribe() instead.";
    return { status: 400, body: { title: "Bad Request", status: 400, detail } };
  }
  const { statusCode, payload } = await app.inject({
    method,
    url: `/api${path}`,
    headers: { host: "localhost", ...(token !== undefined && { authorization: `Bearer ${token}` }) },
    ...(body !== undefined && { payload: body as object }),
  });
  return { status: statusCode, body: payload === "" ? undefined : parseJson(payload) };
}
