import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createReceiver, type WebhookMessage } from "@countersign/core";
import { sendResponse, settleWhenSent, toWebhookRequest } from "@countersign/core/node";

const port = Number(process.env["PORT"] ?? 3000);
const receiver = createReceiver({
  secret: process.env["WEBHOOK_SECRET"] ?? "dev",
  onRejected: ({ code, hint }) => console.warn(`refused ${code}: ${hint}`),
});

async function handle(message: WebhookMessage): Promise<void> {
  console.log(`${message.type} of ${message.userId ?? "someone unknown"}`);
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    const received = await receiver.receive(toWebhookRequest(request));
    if (received.verdict !== "verified") return sendResponse(response, received.response);
    // What is answered decides whether a repeat is handled again.
    settleWhenSent(received, response);
    await handle(received.webhook.message);
    response.writeHead(204).end();
  } catch (error) {
    // Of the handler, or of a hook, a secret function or a dedupe store.
    console.error(error);
    response.writeHead(500).end();
  }
}

const server = createServer((request, response) => void serve(request, response));

server.listen(port, "127.0.0.1", () => {
  console.log(`Receiving webhooks at http://127.0.0.1:${port}/webhooks, signed with WEBHOOK_SECRET.`);
});
