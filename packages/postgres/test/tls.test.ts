import { chmodSync } from "node:fs";
import { join } from "node:path";
import { postgresStore } from "@countersign/postgres";
import { systemClock } from "@countersign/protocol";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { guardFolder } from "../../core/test/support/guard.ts";
import { acceptanceOf, quietContext } from "../../sender/test/support/acceptances.ts";
import {
  type Certificate,
  type CertificateSubject,
  createAuthority,
} from "../../sender/test/support/certificates.ts";
import { serverFile, serverFolder } from "./support/postgres-programs.ts";
import { ask, newSchema, NO_POSTGRES, startPostgres } from "./support/start-postgres.ts";
import { until } from "./support/until.ts";

const HOUR_MS = 3_600_000;

const skipped = await startPostgres({ fsync: "off" });
const folder = skipped === undefined ? "" : serverFolder();
const guard = skipped === undefined ? undefined : guardFolder(folder);
await skipped?.stop();

const file = (name: string): string => join(folder, name);
const authority = await createAuthority();
const HOSTS =
  "host postgres all all scram-sha-256\nhostssl locked all all scram-sha-256\nhostssl asks all all cert\n";

/** Puts the files where the server has them. It reads its key only if nobody else may. */
function present({ cert, key }: Certificate): void {
  serverFile(file("cert.pem"), cert);
  serverFile(file("key.pem"), key);
  chmodSync(file("key.pem"), 0o600);
}

async function startServer() {
  if (skipped === undefined) return undefined;
  present(await authority.issue({ names: ["localhost"] }));
  serverFile(file("authority.pem"), authority.pem);
  serverFile(file("other.pem"), (await createAuthority("Other Authority")).pem);
  serverFile(file("hba.conf"), HOSTS);
  const server = await startPostgres({
    fsync: "off",
    ssl: "on",
    ssl_cert_file: file("cert.pem"),
    ssl_key_file: file("key.pem"),
    ssl_ca_file: file("authority.pem"),
    hba_file: file("hba.conf"),
  });
  for (const database of ["locked", "asks"]) await ask(server?.url ?? "", `CREATE DATABASE ${database}`);
  return server;
}

const server = await startServer();
const VERIFIED = { sslmode: "verify-full", sslrootcert: file("authority.pem") };

describe.skipIf(server === undefined)(
  `a database that is reached by TLS (${server === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  () => {
    afterAll(async () => {
      await server?.stop();
      await guard?.end();
    });

    function urlOf(
      database: string,
      parameters: Readonly<Record<string, string>>,
      host = "localhost",
    ): string {
      const where = new URL(server?.url ?? "");
      where.hostname = host;
      where.pathname = `/${database}`;
      for (const [name, value] of Object.entries(parameters)) where.searchParams.set(name, value);
      return where.href;
    }

    /** What the error says and advises when a store is opened there. */
    async function refusalOf(url: string): Promise<string> {
      const store = postgresStore({ url, schema: newSchema(), openWithin: "1h" });
      const error: unknown = await store.open(quietContext(systemClock())).then(
        () => store.close(),
        (thrown: unknown) => thrown,
      );
      expect(error).toMatchObject({ code: "ERR_STORE_OPEN" });
      return (error as Error).message;
    }

    /** The same, once the server has read a certificate that it is given: it answers the command for that before. */
    async function refusalWith(subject: CertificateSubject, url: string, words: string): Promise<string> {
      present(await authority.issue(subject));
      await ask(server?.url ?? "", "SELECT pg_reload_conf()");
      let message = "";
      await until(`it is refused: ${words}`, async () => {
        message = await refusalOf(url);
        return message.includes(words);
      });
      return message;
    }

    it("takes calls", async () => {
      const store = postgresStore({ url: urlOf("locked", VERIFIED), schema: newSchema() });
      await store.open(quietContext(systemClock()));
      onTestFinished(() => store.close());
      await store.accept(acceptanceOf([{ id: "d1", destination: "shop/crm", acceptedAt: Date.now() }]));
      expect(await store.find("d1")).toMatchObject({ id: "d1" });
    });

    it("with a certificate for another host, advises to write that host, and not to add its authority, which is there", async () => {
      const message = await refusalOf(urlOf("locked", VERIFIED, "127.0.0.1"));
      expect(message).toMatch(/^The certificate of the database is for another host\..*does not match/);
      expect(message).not.toContain("sslrootcert");
    });

    it.each([
      ["expired", { expiresIn: -HOUR_MS }, "has expired. Renew it"],
      ["not valid yet", { startsIn: HOUR_MS }, "is not valid yet. Check the clock of this machine"],
    ])("with a certificate that is %s, says so, and not that it is not trusted", async (_, times, words) => {
      const subject = { names: ["localhost"], ...times };
      const message = await refusalWith(subject, urlOf("locked", VERIFIED), words);
      expect(message).not.toContain("sslrootcert");
    });

    it("with a certificate of another authority than that of the file, says so", async () => {
      const url = urlOf("locked", { ...VERIFIED, sslrootcert: file("other.pem") });
      const message = await refusalWith({ names: ["localhost"] }, url, "is not trusted");
      expect(message).toContain("if it is there, the file has another one");
    });

    it("is not taken for a wrong password where the URL has no TLS, or no certificate of the client, or the machine no entry", async () => {
      const plain = await refusalOf(urlOf("locked", {}));
      expect(plain).toMatch(
        /^The database takes no connection from this machine without TLS.*sslmode=verify-full/,
      );
      const uncertain = { sslmode: "no-verify" };
      const bare = await refusalOf(urlOf("asks", uncertain));
      expect(bare).toMatch(/^The database asks for a certificate of its client\. Add sslcert=FILE/);
      const unknown = await refusalOf(urlOf("nowhere", uncertain));
      expect(unknown).toMatch(/^The database takes no connection of this user to this database/);
      for (const message of [plain, bare, unknown]) expect(message).not.toContain("password");
    });
  },
);
