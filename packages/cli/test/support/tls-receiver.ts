import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { IncomingHttpHeaders } from "node:http";
import { createServer } from "node:https";
import { fileURLToPath } from "node:url";
import { createReceiver } from "@countersign/core";
import { sendResponse, toWebhookRequest } from "@countersign/core/node";
import { portOf, SECRET } from "../../../server/test/support/receiver.ts";
import { cleanUp } from "../../../../tests/support/resources.ts";

const fixture = (name: string): string =>
  fileURLToPath(new URL(`../../../server/test/fixtures/tls/${name}`, import.meta.url));

/** The file to give to `--ca`. */
export const CA_FILE: string = fixture("cert.pem");

export interface TlsReceiver {
  readonly url: string;
  /** The headers of each request, in order of arrival. */
  readonly headers: IncomingHttpHeaders[];
  /** The most requests that were open at once. */
  readonly mostAtOnce: () => number;
}

/**
 * A receiver whose certificate no system trusts, and that wants a header besides the signature.
 *
 * @param together Answers only when this many requests are open; 1 answers each at once.
 */
export async function startTlsReceiver(token: string, together = 1): Promise<TlsReceiver> {
  const headers: IncomingHttpHeaders[] = [];
  const waiting: (() => void)[] = [];
  let open = 0;
  let most = 0;
  const receiver = createReceiver({ secret: SECRET, onRejected: () => {} });
  const server = createServer(
    { cert: readFileSync(fixture("cert.pem")), key: readFileSync(fixture("key.pem")) },
    (request, response) => {
      headers.push(request.headers);
      open += 1;
      most = Math.max(most, open);
      response.once("close", () => (open -= 1));
      void receiver.receive(toWebhookRequest(request)).then(async (received) => {
        if (received.verdict !== "verified") return sendResponse(response, received.response);
        response.statusCode = request.headers.authorization === token ? 204 : 403;
        if (waiting.push(() => response.end()) >= together) for (const end of waiting.splice(0)) end();
      });
    },
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanUp(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `https://localhost:${portOf(server)}/webhooks`, headers, mostAtOnce: () => most };
}
