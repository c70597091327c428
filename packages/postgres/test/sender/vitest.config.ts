import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { testsOf } from "../../../../vitest.shared.ts";
import { programs } from "../support/postgres-programs.ts";
import { NO_POSTGRES } from "../support/start-postgres.ts";

const here = import.meta.dirname;
const root = fileURLToPath(new URL("../../../sender", import.meta.url));

/** Files whose tests have stores of their own: another one makes no difference to them. */
const OWN_STORES = new Set([
  "delivery-store.test.ts", // the port itself, with stores in memory
  "full-disk.test.ts", // the disk of sqliteStore
  "option-names.test.ts", // options, checked before a store is opened
  "private-data.test.ts", // files of sqliteStore
  "schema-migration.test.ts", // the format of sqliteStore's file
  "several-processes.test.ts", // stores that tell what a test wants
  "sharded-store.test.ts", // several stores as one
  "sqlite-store.test.ts", // sqliteStore
  "waits-for-the-disk.test.ts", // the disk of sqliteStore
]);

/** What runs with every `npm test`, where `pnpm test:postgres` would take too long. */
const CHOSEN = new Set(["accept.test.ts", "calls.test.ts", "recovery.test.ts"]);

const hasServer = process.env["POSTGRES_URL"] !== undefined || programs() !== undefined;
if (!hasServer) process.stdout.write(`The tests of the sender on PostgreSQL: ${NO_POSTGRES}\n`);

const isWhole = process.env["COUNTERSIGN_WHOLE_SENDER"] === "1";
const files = readdirSync(join(root, "test"))
  .filter((name) => name.endsWith(".test.ts") && !OWN_STORES.has(name) && (isWhole || CHOSEN.has(name)))
  .filter((name) => readFileSync(join(root, "test", name), "utf8").includes("support/open-sender.ts"));

// The tests of the sender on `postgresStore`: all of them with `pnpm test:postgres`.
export default testsOf("sender-on-postgres", {
  root,
  include: hasServer ? files.map((name) => `test/${name}`) : [],
  globalSetup: join(here, "start-server.ts"),
  env: { COUNTERSIGN_TEST_STORE: join(here, "../support/test-store.ts") },
  // A store across a network takes round trips, and many files share one server.
  testTimeout: 60_000,
  expect: { poll: { timeout: 30_000 } },
});
