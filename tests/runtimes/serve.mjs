// The fetch adapter as a server of the runtime at hand: Node, Bun or Deno. Prints its URL, and ends with its standard input.
import process from "node:process";
import { webhookHandler } from "@countersign/fetch";

const handler = webhookHandler({}, () => new Response(null, { status: 204 }));
const ADDRESS = { hostname: "127.0.0.1", port: 0 };

function announce(port) {
  process.stdout.write(`http://127.0.0.1:${port}/webhooks\n`);
}

if ("Bun" in globalThis) {
  announce(globalThis.Bun.serve({ ...ADDRESS, fetch: (request) => handler(request) }).port);
} else if ("Deno" in globalThis) {
  globalThis.Deno.serve({ ...ADDRESS, onListen: ({ port }) => announce(port) }, (request) =>
    handler(request),
  );
} else {
  const { serve } = await import("@hono/node-server");
  serve({ ...ADDRESS, fetch: (request) => handler(request) }, ({ port }) => announce(port));
}

process.stdin.on("end", () => process.exit()).resume();
