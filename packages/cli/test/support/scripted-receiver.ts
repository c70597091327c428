import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { verifySignature } from "@countersign/core";

export const RECEIVER_SECRET = "dev";

/** A receiver whose answer is decided by the name of the event. */
export interface ScriptedReceiver {
  readonly url: string;
  readonly events: readonly string[];
  close(): Promise<void>;
}

type Answer = (response: ServerResponse, request: { readonly signed: boolean }) => unknown;

/** What it answers; 204 to all others. */
const ANSWERS: Readonly<Record<string, Answer>> = {
  Boom: (response) => problem(response, 500, "The database is not there."),
  Denied: (response) => problem(response, 401, "The X-Signature header does not match the body."),
  Missing: (response) => void response.writeHead(404).end(),
  Moved: (response) => void response.writeHead(308, { location: "/elsewhere" }).end(),
  "Hang up": (response) => void response.socket?.destroy(),
  Late: async (response) => {
    await pause(700);
    response.writeHead(204).end();
  },
  Slow: async (response) => {
    await pause(4_020);
    response.writeHead(204).end();
  },
  Silent: () => {},
  Fake: (response, { signed }) =>
    signed ? void response.writeHead(204).end() : problem(response, 401, "No."),
};

export async function startScriptedReceiver(): Promise<ScriptedReceiver> {
  const events: string[] = [];
  const server = createServer((request, response) => {
    void answer(request, response, events);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`,
    events,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function answer(request: IncomingMessage, response: ServerResponse, events: string[]): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  const { event = "" } = JSON.parse(body.toString()) as { event?: string };
  events.push(event);
  const signature = request.headers["x-signature"];
  const signed = typeof signature === "string" && verifySignature(body, signature, RECEIVER_SECRET).ok;
  const own = Object.hasOwn(ANSWERS, event) ? ANSWERS[event] : undefined;
  if (own) await own(response, { signed });
  else response.writeHead(204).end();
}

function problem(response: ServerResponse, status: number, detail: string): void {
  response.writeHead(status, { "content-type": "application/problem+json" });
  response.end(JSON.stringify({ type: "about:blank", title: "Error", status, detail }));
}
