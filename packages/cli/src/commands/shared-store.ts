import type { Duration } from "@countersign/protocol";
import type { DeliveryStore } from "@countersign/sender/store";
import { Option } from "commander";
import { UsageError } from "../errors/usage-error.ts";

/** `--store`, the database that several processes share. */
export function storeOption(about: string): Option {
  return new Option("--store <url>", about).env("COUNTERSIGN_STORE").argParser(storeArgument);
}

/** The URL of a PostgreSQL database. The errors do not repeat it: it may contain a password. */
function storeArgument(value: string): string {
  if (!/^postgres(?:ql)?:\/\/./u.test(value)) {
    throw new UsageError(
      "--store, or COUNTERSIGN_STORE, is not the URL of a PostgreSQL database. Pass one such as postgres://user:password@127.0.0.1:5432/countersign.",
    );
  }
  if (URL.canParse(value)) return value;
  throw new UsageError(
    "--store, or COUNTERSIGN_STORE, is not a valid URL. In a password, write characters such as / # ? and @ percent-encoded: %2F %23 %3F %40.",
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
