import type { Duration } from "@countersign/protocol";
import type { DeliveryStore } from "@countersign/sender/store";
import { InvalidArgumentError, Option } from "commander";

/** `--store`, the database that several processes share. */
export function storeOption(about: string): Option {
  return new Option("--store <url>", about).env("COUNTERSIGN_STORE").argParser(storeArgument);
}

/** The URL of a PostgreSQL database. */
function storeArgument(value: string): string {
  if (/^postgres(?:ql)?:\/\/./u.test(value)) return value;
  throw new InvalidArgumentError(
    "Pass the URL of a PostgreSQL database, such as postgres://user:password@127.0.0.1:5432/countersign.",
  );
}

/** The store of a database. The driver is loaded only where it is used. */
export async function openSharedStore(url: string, keep?: Duration): Promise<DeliveryStore> {
  const { postgresStore } = await import("@countersign/postgres");
  return postgresStore({ url, keep });
}

/** Where a store is, without the user and the password. */
export function placeOf(url: string): string {
  const { host, pathname } = new URL(url);
  return `${host}${pathname}`;
}
