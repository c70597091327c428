import { sign } from "@countersign/core";
import type { Attempt, Delivery, SenderSettings } from "@countersign/sender";
import { HIDDEN, withHiddenHeaders } from "../settings/hidden-headers.ts";
import { destinationOf } from "../settings/settings-edit.ts";

/** The parts of a header that are hidden in an answer. Hiding shorter ones would hide the answer. */
const CREDENTIAL_LENGTH = 8;

/** The start of a credential at the end of an answer is hidden from this length on: a shorter one is in any word. */
const SHORTEST_START = 4;

/** A delivery as the control API shows it: times as ISO 8601, without the body. */
export function deliveryJson(
  { body: _, attempts, acceptedAt, dueAt, endedAt, ...delivery }: Delivery,
  settings: SenderSettings,
): object {
  const { endpoints = [], secret = "" } = destinationOf(settings, delivery.destination) ?? {};
  const values = [secret, ...endpoints.flatMap(({ headers = {} }) => Object.values(headers))];
  const credentials = values
    .flatMap((value) => value.split(" "))
    .filter((part) => part.length >= CREDENTIAL_LENGTH);
  return {
    ...delivery,
    acceptedAt: iso(acceptedAt),
    ...(dueAt !== undefined && { dueAt: iso(dueAt) }),
    ...(endedAt !== undefined && { endedAt: iso(endedAt) }),
    attempts: attempts.map((attempt) => attemptJson(attempt, credentials)),
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
    ...deliveryJson(delivery, settings),
    body,
    ...(signature !== undefined && { signature }),
    ...(endpoint && { curl: curl(endpoint.url, headers, body) }),
  };
}

/** An endpoint that answers with what it was sent answers with the credentials of its headers. */
function attemptJson({ startedAt, response, ...attempt }: Attempt, credentials: readonly string[]): object {
  const shown = credentials.reduce(
    (text, credential) => withoutStartOf(credential, text.replaceAll(credential, HIDDEN)),
    response,
  );
  return { ...attempt, response: shown, startedAt: iso(startedAt) };
}

/** A long answer is kept up to a limit, which may have cut a credential in two. */
function withoutStartOf(credential: string, text: string): string {
  for (let length = credential.length - 1; length >= SHORTEST_START; length -= 1) {
    if (text.endsWith(credential.slice(0, length))) return text.slice(0, -length) + HIDDEN;
  }
  return text;
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
