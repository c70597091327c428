// A process that delivers what others accept: worker.js DATABASE SCHEMA ENDPOINT. Says when it is ready.
import { openOnPostgres } from "../support/postgres-sender.ts";

const [database = "", schema = "", endpoint = ""] = process.argv.slice(2);
await openOnPostgres({ database, schema, endpoint });
process.send?.("ready");
