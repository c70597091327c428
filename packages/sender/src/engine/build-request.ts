import { sign } from "@countersign/core";
import type { EndpointSettings } from "../settings/settings.ts";
import type { AttemptRequest } from "../transport/transport.ts";

/** What identifies the sender to receivers (spec section 2.2). */
const userAgent = "Countersign/1.0";

/** The request of one attempt: the body as it is stored, signed with the secret as it is now. */
export function buildRequest(
  body: Uint8Array,
  endpoint: EndpointSettings,
  sharedSecret: string | undefined,
): AttemptRequest {
  const headers: Record<string, string> = {
    "User-Agent": userAgent,
    "Content-Type": "application/json",
    ...(sharedSecret === undefined ? {} : { "X-Signature": sign(body, sharedSecret) }),
    ...endpoint.headers,
  };
  return { url: endpoint.url, headers, body, ca: endpoint.ca };
}
