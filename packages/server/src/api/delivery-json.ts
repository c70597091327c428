import { sign } from "@countersign/core";
import type { Delivery, DestinationSettings, SenderSettings } from "@countersign/sender";
import { adviceFor, whyOf } from "@countersign/sender/explain";
import { withHiddenHeaders } from "../settings/hidden-headers.ts";
import { destinationOf } from "../settings/find-settings.ts";
import { bodyText, type BodyText } from "../shapes/body-text.ts";
import { attemptJson, summaryJson } from "../shapes/delivery-shapes.ts";
import type { ServerInfo } from "./operation.ts";

/**
 * A delivery with every attempt, its exact body, its signature, commands that send it, and what is to be said of it.
 *
 * @param limits How long a receiver has to answer, and how long a delivery is tried.
 */
export function deliveryDetailJson(
  delivery: Delivery,
  settings: SenderSettings,
  { budgetMs, retryWindowMs }: Pick<ServerInfo, "budgetMs" | "retryWindowMs">,
): object {
  const { body, attempts } = delivery;
  const destination = destinationOf(settings, delivery.destination);
  const secret = destination?.secret;
  const signature = secret === undefined ? undefined : sign(body, secret);
  const endpoints = (destination?.endpoints ?? []).map(withHiddenHeaders);
  const text = bodyText(body);
  const last = attempts.at(-1);
  const summary = { ...delivery, attempts: attempts.length, last };
  // Whether a destination that has gone was signed is not known.
  const context = { signed: destination === undefined || secret !== undefined, budgetMs };
  const advice = last && adviceFor(last, { ...context, state: delivery.state, retryWindowMs });
  const held = delivery.state === "pending" ? holdOf(destination) : undefined;
  return {
    ...summaryJson(summary),
    history: attempts.map(attemptJson),
    ...text,
    bytes: body.byteLength,
    ...(signature !== undefined && { signature }),
    curls: endpoints.map(({ url, headers }) => ({
      endpoint: url,
      curl: curl(url, headers, signature, text),
    })),
    why: whyOf(summary, context),
    ...(held !== undefined ? { advice: held } : advice && { advice: `${advice.text} ${advice.next}` }),
  };
}

/** Why nothing is sent to a destination, whatever its receiver has answered, and what to do. */
export function holdOf(destination: DestinationSettings | undefined): string | undefined {
  if (destination === undefined)
    return "Its destination has no settings, so it waits. Add the destination again under its name: then it is sent.";
  return destination.enabled === false
    ? "Its destination is disabled, so it waits. Enable the destination: then it is sent."
    : undefined;
}

function curl(
  url: string,
  own: Readonly<Record<string, string>> = {},
  signature: string | undefined,
  { body, bodyBase64 }: BodyText,
): string {
  const headers = {
    "Content-Type": "application/json",
    ...own,
    ...(signature !== undefined && { "X-Signature": signature }),
  };
  const headerArguments = Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`);
  // Without -g, curl takes the brackets of a query for a range of URLs.
  if (bodyBase64 === undefined)
    return ["curl -g", ...headerArguments, "--data-raw", quoted(body), quoted(url)].join(" ");
  // The signature is of these bytes, which an argument cannot hold.
  const command = ["curl -g", ...headerArguments, "--data-binary @-", quoted(url)].join(" ");
  return `echo ${bodyBase64} | base64 -d | ${command}`;
}

/** For a POSIX shell: nothing is special inside single quotes but the quote itself. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
