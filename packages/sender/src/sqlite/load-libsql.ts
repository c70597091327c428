import { codeOf, messageOf } from "@countersign/protocol";

/**
 * Loads libsql, which is compiled for each platform: only when a file is opened, so that everything else works without it.
 *
 * @param failed Makes the error that is thrown when there is no build for this machine, or Node may not load it, of the reason.
 * @typeParam Libsql The class of a database: `typeof Database`, with the types of libsql. They are not there where it has no build.
 */
export async function loadLibsql<Libsql>(failed: (reason: string, cause: unknown) => Error): Promise<Libsql> {
  try {
    const { default: libsql } = await import("libsql");
    return libsql as Libsql;
  } catch (cause) {
    const reason = `the database, libsql, cannot be loaded. ${remedyOf(cause)} (${messageOf(cause).split("\n", 1)[0]})`;
    throw failed(reason, cause);
  }
}

/** What libsql is compiled for, as Node names it. On Linux, there is a build for glibc and one for musl. */
const BUILDS = ["darwin-arm64", "darwin-x64", "linux-arm", "linux-arm64", "linux-x64", "win32-x64"];

/** The codes of Node for a package that is not there: imported, and required. */
const NOT_FOUND = new Set(["ERR_MODULE_NOT_FOUND", "MODULE_NOT_FOUND"]);

function remedyOf(cause: unknown): string {
  const machine = `${process.platform}-${process.arch}`;
  const code = codeOf(cause) ?? "";
  if (!BUILDS.includes(machine))
    return `It has no build for ${machine}, only for ${BUILDS.join(", ")}. Run this on one of them, or keep deliveries in PostgreSQL.`;
  // The build is there, but Windows may lack what it needs. Node itself does not need it.
  if (process.platform === "win32" && code === "ERR_DLOPEN_FAILED")
    return "Install the Microsoft Visual C++ Redistributable (x64), which it needs.";
  if (NOT_FOUND.has(code))
    return `Install the packages on this machine, with the optional ones. If the build for ${machine} is then still missing, remove node_modules and package-lock.json first: npm 10 may write a lockfile for one platform only.`;
  return "Install the packages on this machine, with the optional ones; under Node's permission model, allow addons.";
}
