export type { PostgresClient, PostgresPool, PostgresQuery } from "./database/postgres-pool.ts";
export { postgresDedupe, type PostgresDedupeOptions } from "./dedupe/postgres-dedupe.ts";
export type { DedupeStore } from "@countersign/core";
