import type { RequestListener } from "node:http";
import { createReceiver, type ReceiverOptions } from "@countersign/core";
import { sendResponse, settleWhenSent, toWebhookRequest } from "@countersign/core/node";
import { SECRET } from "./listen.ts";

/** A receiver on node:http as core's documentation has it. */
export function coreReceiver(options: Pick<ReceiverOptions, "events"> = {}): RequestListener {
  const receiver = createReceiver({ secret: SECRET, ...options });
  return (request, response) => {
    receiver.receive(toWebhookRequest(request)).then(
      (received) => {
        if (received.verdict !== "verified") return sendResponse(response, received.response);
        settleWhenSent(received, response);
        return response.writeHead(204).end();
      },
      () => response.writeHead(500).end(),
    );
  };
}
