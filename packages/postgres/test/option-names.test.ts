import { postgresStore } from "@countersign/postgres";
import { postgresDedupe } from "@countersign/postgres/dedupe";
import pg from "pg";
import { expect, it } from "vitest";

const pool = { connect: () => Promise.reject(new Error("not used")) };

it.each<[string, string]>([
  ["connectionString", "it is called url here"],
  ["databaseUrl", "it is called url here"],
  ["keepFor", 'it is called keep here, in milliseconds, or text such as "7d"'],
  ["connectTimeout", "it is called openWithin here"],
  ["client", "it takes a pool, since it needs several connections"],
])("postgresStore() refuses %s, and says: %s", (name, says) => {
  expect(() => postgresStore({ url: "postgres://127.0.0.1/x", [name]: "x" })).toThrow(says);
});

it.each(["999ms", "2d", "9999999999d"] as const)("postgresStore() refuses a lease of %s", (lease) => {
  expect(() => postgresStore({ url: "postgres://127.0.0.1/x", lease })).toThrow('from "1s" to "1d"');
});

it.each<[string, string]>([
  ["tableName", "it is called table here"],
  ["expiresIn", "it is called ttl here, in milliseconds as a number"],
  ["lockTtl", "it is called lease here, in milliseconds as a number"],
])("postgresDedupe() refuses %s, and says: %s", (name, says) => {
  expect(() => postgresDedupe(pool as never, { [name]: "x" })).toThrow(says);
});

it("refuses a client in the place of a pool, whose first command would end the process", () => {
  const client = new pg.Client();
  expect(() => postgresDedupe(client as never)).toThrow("must be a pool, new pg.Pool(), and not a client");
  expect(() => postgresStore({ pool: client as never })).toThrow("must be a pool");
});
