import { messageOf } from "@countersign/protocol";
import type Database from "libsql";
import { StoreError } from "../store/store-error.ts";

/** The class of a database. */
export type Libsql = typeof Database;

/**
 * Loads libsql, which is compiled for each platform: only when a store is opened, so that everything else works without it.
 *
 * @throws StoreError `ERR_STORE_OPEN` when there is no build for this machine, or Node may not load it
 */
export async function loadLibsql(path: string): Promise<Libsql> {
  try {
    const { default: libsql } = await import("libsql");
    return libsql;
  } catch (cause) {
    throw new StoreError(
      "ERR_STORE_OPEN",
      `The store ${path} cannot be opened: its database, libsql, cannot be loaded. Install the packages on this machine, with the optional ones; under Node's permission model, allow addons. (${messageOf(cause).split("\n", 1)[0]})`,
      cause,
    );
  }
}
