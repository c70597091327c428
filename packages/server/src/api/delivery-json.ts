import { sign } from "@countersign/core";
import type { Attempt, Delivery, SenderSettings } from "@countersign/sender";
import { withHiddenHeaders } from "../settings/hidden-headers.ts";
import { destinationOf } from "../settings/settings-edit.ts";

/** A delivery as the control API shows it: times as ISO 8601, without the body. */
export function deliveryJson({
  body: _,
  attempts,
  acceptedAt,
  dueAt,
  endedAt,
  ...delivery
}: Delivery): object {
  return {
    ...delivery,
    acceptedAt: iso(acceptedAt),
    ...(dueAt !== undefined && { dueAt: iso(dueAt) }),
    ...(endedAt !== undefined && { endedAt: iso(endedAt) }),
    attempts: attempts.map(attemptJson),
  };
}

/** A delivery with its exact body, its signature, and a command that sends it. */
export function deliveryDetailJson(delivery: Delivery, settings: SenderSettings): object {
  const destination = destinationOf(settings, delivery.destination);
  const secret = destination?.secret;
  const signature = secret === undefined ? undefined : sign(delivery.body, secret);
  const [endpoint] = (destination?.endpoints ?? []).map(withHiddenHeaders);
  const body = Buffer.from(delivery.body).toString("utf8");
  const headers = {
    "Content-Type": "application/json",
    ...endpoint?.headers,
    ...(signature !== undefined && { "X-Signature": signature }),
  };
  return {
    ...deliveryJson(delivery),
    body,
    ...(signature !== undefined && { signature }),
    ...(endpoint && { curl: curl(endpoint.url, headers, body) }),
  };
}

function attemptJson({ startedAt, ...attempt }: Attempt): object {
  return { ...attempt, startedAt: iso(startedAt) };
}

function curl(url: string, headers: Readonly<Record<string, string>>, body: string): string {
  const headerArguments = Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`);
  return ["curl", ...headerArguments, "--data-raw", quoted(body), quoted(url)].join(" ");
}

/** For a POSIX shell: nothing is special inside single quotes but the quote itself. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function iso(time: number): string {
  return new Date(time).toISOString();
}
