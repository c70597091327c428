export type { PostgresClient, PostgresPool, PostgresQuery } from "./database/postgres-pool.ts";
export { postgresStore, type PostgresStoreOptions } from "./store/postgres-store.ts";
