import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import { bodyOf, close, listen, type WireMessage } from "./wire.ts";

export const SECRET = "the secret of both";

/** Takes webhooks and keeps those that are correctly signed. */
export interface Receiver {
  readonly url: string;
  readonly messages: readonly WireMessage[];
  /** What was wrong with the others. */
  readonly problems: readonly string[];
  close(): Promise<void>;
}

/** Verifies with `node:crypto` only, so that it shares no code with what is tested. */
export async function startReceiver(): Promise<Receiver> {
  const messages: WireMessage[] = [];
  const problems: string[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const body = await bodyOf(request);
      const signature = createHmac("sha1", SECRET).update(body).digest("hex");
      if (request.headers["x-signature"] === signature) messages.push(JSON.parse(body.toString()));
      else problems.push(`wrong signature ${String(request.headers["x-signature"])}`);
      response.end();
    })();
  });
  return { url: `${await listen(server)}/webhooks`, messages, problems, close: () => close(server) };
}
