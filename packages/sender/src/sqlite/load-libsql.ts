import { codeOf, messageOf } from "@countersign/protocol";
import type Database from "libsql";

/** The class of a database. */
export type Libsql = typeof Database;

/**
 * Loads libsql, which is compiled for each platform: only when a file is opened, so that everything else works without it.
 *
 * @param failed Makes the error that is thrown when there is no build for this machine, or Node may not load it, of the reason.
 */
export async function loadLibsql(failed: (reason: string, cause: unknown) => Error): Promise<Libsql> {
  try {
    const { default: libsql } = await import("libsql");
    return libsql;
  } catch (cause) {
    const reason = `the database, libsql, cannot be loaded. ${remedyOf(cause)} (${messageOf(cause).split("\n", 1)[0]})`;
    throw failed(reason, cause);
  }
}

/** Where the build for this machine is there, Windows may lack what it needs. Node itself does not need it. */
function remedyOf(cause: unknown): string {
  return process.platform === "win32" && codeOf(cause) === "ERR_DLOPEN_FAILED"
    ? "Install the Microsoft Visual C++ Redistributable (x64), which it needs."
    : "Install the packages on this machine, with the optional ones; under Node's permission model, allow addons.";
}
