import type { Attempt, SenderSettings } from "@countersign/sender";
import { HIDDEN } from "./hidden-headers.ts";
import { destinationOf } from "./settings-edit.ts";

/** The parts of a header that are hidden in an answer. Hiding shorter ones would hide the answer. */
const CREDENTIAL_LENGTH = 8;

/** The start of a credential at the end of an answer is hidden from this length on: a shorter one is in any word. */
const SHORTEST_START = 4;

/** What an answer of a destination's endpoints must not show: its secret, and the values of its static headers. */
export function credentialsOf(settings: SenderSettings, destination: string): readonly string[] {
  const { endpoints = [], secret = "" } = destinationOf(settings, destination) ?? {};
  const values = [secret, ...endpoints.flatMap(({ headers = {} }) => Object.values(headers))];
  // First without its scheme, such as Bearer; whole where its words are short, as in a passphrase.
  return values
    .flatMap((value) => [...value.split(" "), value])
    .filter((part) => part.length >= CREDENTIAL_LENGTH);
}

/** The attempt as it is shown: an endpoint that answers with what it was sent answers with the credentials of its headers. */
export function withoutCredentials<T extends Pick<Attempt, "response">>(
  attempt: T,
  credentials: readonly string[],
): T {
  const response = credentials.reduce(
    (text, credential) => withoutStartOf(credential, text.replaceAll(credential, HIDDEN)),
    attempt.response,
  );
  return { ...attempt, response };
}

/** A long answer is kept up to a limit, which may have cut a credential in two. */
function withoutStartOf(credential: string, text: string): string {
  for (let length = credential.length - 1; length >= SHORTEST_START; length -= 1) {
    if (text.endsWith(credential.slice(0, length))) return text.slice(0, -length) + HIDDEN;
  }
  return text;
}
