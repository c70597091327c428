import { once } from "node:events";
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { sign } from "@countersign/core";
import { virtualClock, type VirtualClock } from "@countersign/protocol";
import { createServer, type CountersignServer, type ServerOptions } from "@countersign/server";
import { onTestFinished } from "vitest";

export const SECRET = "a shared secret";

/** A receiver whose behaviour a test changes while it runs. */
export interface Receiver {
  readonly url: string;
  /** `verifies`: as it should. `down`: answers 503. `gullible`: takes everything. `missing`: answers 404. A function answers itself. */
  mode: "verifies" | "down" | "gullible" | "missing" | { readonly status: number; readonly body: string };
  /** The bodies that were accepted. */
  readonly accepted: string[];
  requests: number;
}

export async function startReceiver(): Promise<Receiver> {
  const receiver: Receiver = { url: "", mode: "verifies", accepted: [], requests: 0 };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    receiver.requests += 1;
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return;
    }
    const body = Buffer.concat(chunks);
    const { mode } = receiver;
    const isAuthentic = request.headers["x-signature"] === sign(body, SECRET);
    if (typeof mode === "object") response.writeHead(mode.status).end(mode.body);
    else if (mode === "down") response.writeHead(503).end("Service unavailable: no database");
    else if (mode === "missing") response.writeHead(404).end("Cannot POST /webhooks");
    else if (mode === "verifies" && !isAuthentic) response.writeHead(401).end("signature does not match");
    else {
      receiver.accepted.push(body.toString());
      response.writeHead(204).end();
    }
  };
  const server = createHttpServer((request, response) => void answer(request, response));
  const port = await listening(server);
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  return Object.assign(receiver, { url: `http://127.0.0.1:${port}/webhooks` });
}

async function listening(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** A server with its page, in virtual time, that sends to a receiver. */
export interface Setting {
  readonly server: CountersignServer;
  /** The clock of the server, as code in its process has it. */
  readonly clock: VirtualClock;
  readonly receiver: Receiver;
  /** Records track calls for users `u1`, `u2`, …, and returns when every attempt that is due has ended. */
  readonly track: (event: string, count?: number, fields?: object) => Promise<void>;
  /** Calls the control API. */
  readonly api: (method: string, path: string, body?: unknown) => Promise<unknown>;
}

export async function startSetting(options: Partial<ServerOptions> = {}): Promise<Setting> {
  const receiver = await startReceiver();
  const clock = virtualClock();
  const server = await createServer({ to: receiver.url, secret: SECRET, port: 0, clock, ...options });
  onTestFinished(() => server.close({ deadlineMs: 1_000 }));
  return settingOf(server, receiver, clock);
}

function settingOf(server: CountersignServer, receiver: Receiver, clock: VirtualClock): Setting {
  let users = 0;
  const request = async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const response = await fetch(server.url + path, {
      method,
      ...(body !== undefined && {
        body: JSON.stringify(body),
        headers: { "content-type": "application/json" },
      }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === "" ? undefined : JSON.parse(text);
  };
  return {
    server,
    clock,
    receiver,
    api: (method, path, body) => request(method, `/api${path}`, body),
    async track(event, count = 1, fields = {}) {
      const batch = Array.from({ length: count }, () => {
        users += 1;
        return { type: "track", userId: `u${users}`, event, properties: { n: users }, ...fields };
      });
      await request("POST", "/v1/batch", { writeKey: "any", batch });
      // Every attempt that is due has ended then.
      await clock.advance(0);
    },
  };
}
