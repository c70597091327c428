import { codeOf, messageOf } from "@countersign/protocol";
import pg from "pg";
import { checkPool, type PostgresPool } from "../database/postgres-pool.ts";

/** Where a store is: one of the two. */
export interface Where {
  readonly url?: string | undefined;
  readonly pool?: PostgresPool | undefined;
}

/** @throws TypeError when it is neither, or both, or a URL that the driver cannot read */
export function parseWhere({ url, pool }: Where): Where {
  if ((url === undefined) === (pool === undefined)) {
    throw new TypeError("postgresStore() needs either { url } or { pool }.");
  }
  if (pool !== undefined) {
    checkPool("postgresStore({ pool })", pool);
    return { pool };
  }
  const isUrl = typeof url === "string" && /^postgres(?:ql)?:\/\//u.test(url);
  if (!isUrl) {
    throw new TypeError(
      "postgresStore({ url }) must be the URL of a database, such as postgres://user:password@127.0.0.1:5432/countersign.",
    );
  }
  checkUrl(url);
  return { url };
}

/** @throws TypeError without the URL, which contains the password */
function checkUrl(url: string): void {
  const wrong = reasonAgainst(url);
  if (wrong === undefined) return;
  throw new TypeError(`postgresStore({ url }) cannot be read: ${wrong}`);
}

const ENCODE =
  "In the user and the password, write special characters as percent codes: @ as %40, : as %3A, / as %2F, ? as %3F, # as %23, % as %25.";

/** As libpq takes them, and the driver does not. What has an @ behind the comma may be a password. */
const SEVERAL_HOSTS = /^\w+:\/\/(?:[^/?#]*@)?[^/?#@]*,[^@]*$|[?&]host=[^&]*(?:,|%2c)/i;

function reasonAgainst(url: string): string | undefined {
  if (SEVERAL_HOSTS.test(url))
    return "it names several hosts. Use one host name that always leads to the primary.";
  try {
    // It reads the certificates, too, and does not connect.
    void new pg.Client({ connectionString: url });
    // A URL without a host is no URL elsewhere: postgres://user:password@/database?host=/run/postgresql
    if (!URL.canParse(url)) return undefined;
    const { hash, pathname, search } = new URL(url);
    if (hash !== "") return `it contains #. ${ENCODE}`;
    // The end of a password that was taken for the name of the database.
    const isBehindHost = pathname.includes("@") || (pathname === "" && search.includes("@"));
    return isBehindHost ? `there is an @ behind the host. ${ENCODE}` : undefined;
  } catch (error) {
    // Of reading a file, such as ENOENT.
    const isOfFile = /^E[A-Z]+$/.test(codeOf(error) ?? "");
    const next = isOfFile ? "sslrootcert, sslcert and sslkey are files on this machine." : ENCODE;
    return `${messageOf(error)}. ${next}`;
  }
}
