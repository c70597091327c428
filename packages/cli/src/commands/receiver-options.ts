import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { Option } from "commander";
import type { SettingsIssue } from "@countersign/sender";
import { messageOf } from "@countersign/protocol";
import { countArgument, fileArgument, headerArgument, secretArgument } from "./arguments.ts";
import { UsageError } from "../errors/usage-error.ts";

const GIVE_PEM = "Give the file of the certificate authority, which begins with -----BEGIN CERTIFICATE-----.";

/** The options that say how a receiver is reached, as commander reads them. */
export interface ReceiverFlags {
  readonly header?: Readonly<Record<string, string>>;
  readonly ca?: string;
  readonly concurrency?: number;
}

/** How a receiver is reached, in the words of the libraries. */
export interface Reach {
  readonly headers?: Readonly<Record<string, string>>;
  readonly ca?: string;
}

/** `--secret`, also from the environment. @param what Describes what it is for. */
export function secretOption(what: string): Option {
  return new Option("--secret <secret>", what).env("COUNTERSIGN_SECRET").argParser(secretArgument);
}

/** `--header`, which every command that sends has. */
export function headerOption(): Option {
  return new Option(
    "--header <header>",
    "send this header with every request, such as 'Authorization: Bearer abc'; repeatable",
  ).argParser(headerArgument);
}

/** `--ca`, which every command that sends has. */
export function caOption(): Option {
  return new Option(
    "--ca <file>",
    "trust the certificate authorities in this PEM file, for a receiver with a private certificate",
  ).argParser(fileArgument);
}

/** `--concurrency`. @param what Describes what it limits, and the default. */
export function concurrencyOption(what: string): Option {
  return new Option("--concurrency <number>", what).argParser(countArgument);
}

/**
 * Reads the file of `--ca`, and checks it and the headers before anything is sent.
 *
 * @throws UsageError naming the option that is wrong, without its value.
 */
export async function reachOf({ header, ca: file }: ReceiverFlags, cwd: string): Promise<Reach> {
  const ca = file === undefined ? undefined : await readCa(resolve(cwd, file));
  const reach = { ...(header && { headers: header }), ...(ca !== undefined && { ca }) };
  if (Object.keys(reach).length === 0) return reach;
  const { endpointIssues } = await import("@countersign/sender");
  const [issue] = endpointIssues(reach);
  if (issue !== undefined) throw new UsageError(described(issue));
  return reach;
}

function described({ path, problem }: SettingsIssue): string {
  const [, name] = /^headers\["(.*)"\]$/.exec(path) ?? [];
  return `--${name === undefined ? path : `header ${name}`} ${problem}`;
}

async function readCa(file: string): Promise<string> {
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    throw new UsageError(`--ca: ${file} cannot be read: ${messageOf(error)}. ${GIVE_PEM}`);
  });
  if (text.includes("-----BEGIN CERTIFICATE-----")) return text;
  throw new UsageError(`--ca: ${file} has no certificate in PEM. ${GIVE_PEM}`);
}
