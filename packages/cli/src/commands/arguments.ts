import { parseDuration, type Duration } from "@countersign/protocol";
import { LEAST_BYTES } from "@countersign/server/options";
import { InvalidArgumentError } from "commander";
import { UsageError } from "../errors/usage-error.ts";

/** The `http:` or `https:` URL of a receiver. */
export function urlArgument(value: string): string {
  return httpUrl(value, "http://localhost:3000/webhooks");
}

/** The `http:` or `https:` URL of a server that accepts calls. */
export function serverArgument(value: string): string {
  return httpUrl(value, "http://127.0.0.1:4010");
}

/** The error about a password in it does not repeat it. */
function httpUrl(value: string, example: string): string {
  const { protocol, username, password } = URL.canParse(value) ? new URL(value) : {};
  if (username || password) {
    throw new UsageError(
      "The URL contains a user name or a password. Leave them out, and pass them with --header 'Authorization: ...'.",
    );
  }
  if (protocol === "http:" || protocol === "https:") return value;
  throw new InvalidArgumentError(`Pass a full URL, such as ${example}.`);
}

/** One more URL of a repeated option. */
export function urlsArgument(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, urlArgument(value)];
}

/** One more value of a repeated option. */
export function repeatedArgument(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

/** One more `Name: value`. The errors do not repeat it: it may be a credential. */
export function headerArgument(
  value: string,
  before: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const [, name, content] = /^([^:\s]+)\s*:\s*(.*?)\s*$/s.exec(value) ?? [];
  if (name === undefined || content === undefined) {
    throw new UsageError(
      "--header takes a name and a value with a colon between them, in quotes: --header 'X-Team: shop'",
    );
  }
  const known = Object.keys(before).find((other) => other.toLowerCase() === name.toLowerCase());
  if (known === undefined) return { ...before, [name]: content };
  throw new UsageError(`--header ${known} is given twice; upper and lower case are the same. Give it once.`);
}

/** A TCP port; 0 means any free port. */
export function portArgument(value: string): number {
  const port = /^\d+$/.test(value) ? Number(value) : Number.NaN;
  if (port <= 65_535) return port;
  throw new InvalidArgumentError("Pass a port from 0 to 65535; 0 means any free port.");
}

/** A whole number from 1 on. */
export function countArgument(value: string): number {
  const count = /^\d+$/.test(value) ? Number(value) : 0;
  if (count >= 1) return count;
  throw new InvalidArgumentError("Pass a whole number, 1 or more.");
}

/** A number of seconds, as milliseconds. */
export function secondsArgument(value: string): number {
  const seconds = /^\d+(\.\d+)?$/.test(value) ? Number(value) : Number.NaN;
  if (seconds <= 86_400) return seconds * 1_000;
  throw new InvalidArgumentError("Pass a number of seconds up to 86400, such as 10.");
}

type TextArgument = (value: string) => string;

/** Something that is neither empty nor blank; `what` says in an error what to pass. */
function notEmpty(what: string): TextArgument {
  return (value) => {
    if (value.trim() !== "") return value;
    throw new InvalidArgumentError(`It is empty. Pass ${what}, or leave the option out.`);
  };
}

/** A shared secret. */
export const secretArgument: TextArgument = notEmpty("the secret of the receiver");
/** The token of a server. */
export const tokenArgument: TextArgument = notEmpty("a long random token");
/** An address to listen on. An empty one would mean every address of the machine. */
export const hostArgument: TextArgument = notEmpty("an address such as 127.0.0.1");
/** The directory of a server. */
export const dataArgument: TextArgument = notEmpty("a directory");
/** A file. An empty one would mean the working directory. */
export const fileArgument: TextArgument = notEmpty("a file");
/** The URL of an outgoing proxy. */
export const proxyArgument: TextArgument = notEmpty(
  "the URL of an HTTP proxy, such as http://proxy.example:3128",
);
/** The URL of a database. */
export const databaseArgument: TextArgument = notEmpty("the URL of a PostgreSQL database");
/** The write key of a source. */
export const writeKeyArgument: TextArgument = notEmpty("the write key of the source");

const UNIT_BYTES: Readonly<Record<string, number>> = { B: 1, KB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 };

/** A number of bytes, with or without a unit. */
export function bytesArgument(value: string): number {
  const [, number, unit = "B"] = /^(\d+)([KMGT]?B)?$/i.exec(value) ?? [];
  const bytes = Number(number) * (UNIT_BYTES[unit.toUpperCase()] ?? Number.NaN);
  if (bytes >= LEAST_BYTES && Number.isSafeInteger(bytes)) return bytes;
  throw new InvalidArgumentError(`Pass a size of ${LEAST_BYTES} bytes or more, such as 500MB or 20GB.`);
}

/** A length of time with its unit. */
export function durationArgument(value: string): Duration {
  try {
    parseDuration(value as Duration, "It");
    return value as Duration;
  } catch {
    throw new InvalidArgumentError("Pass a duration, such as 12h or 7d.");
  }
}
