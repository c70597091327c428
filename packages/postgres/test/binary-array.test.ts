import pg from "pg";
import { afterAll, describe, expect, it } from "vitest";
import { binaryArray } from "../dist/database/binary-array.js";
import { NO_POSTGRES, startPostgres } from "./support/start-postgres.ts";

const server = await startPostgres();

describe.skipIf(server === undefined)(
  `arrays in binary (${server === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  () => {
    afterAll(() => server?.stop());

    it.each([
      ["text", ["", "a", null, '"quoted", {braced} \\', "ä𝄞\u{10FFFF}", "x".repeat(5_000)]],
      ["bigint", [0, 1, -1, null, 2 ** 53 - 1, -(2 ** 53 - 1), 2 ** 32, -(2 ** 32), 2 ** 31, 4_294_967_295]],
      ["integer", [0, -1, null, 2 ** 31 - 1, -(2 ** 31)]],
      ["bool", [true, false, null]],
      ["bytea", [new Uint8Array(), Uint8Array.of(0, 255, 92), null, new Uint8Array(70_000).fill(7)]],
      ["text", []],
      ["text", Array.from({ length: 1_000 }, (_, index) => "é".repeat(index))],
    ] as const)("of %s are what the database reads", async (type, values) => {
      const client = new pg.Client({ connectionString: server?.url });
      await client.connect();
      const given = values.map((value) => (value instanceof Uint8Array ? Buffer.from(value) : value));
      const { rows } = await client.query<{ value: unknown }>(
        `SELECT value FROM unnest($1::${type}[]) WITH ORDINALITY AS v (value, n) ORDER BY n`,
        [binaryArray(type, values)],
      );
      await client.end();
      const read = rows.map(({ value }) => (type === "bigint" && value !== null ? Number(value) : value));
      expect(read).toEqual(given);
    });

    it.each([
      ["bigint", 0.5],
      ["bigint", 2 ** 53],
      ["integer", 2 ** 31],
      ["text", 1],
      ["bool", "true"],
    ] as const)("refuse what is no %s", (type, value) => {
      expect(() => binaryArray(type, [value])).toThrow(TypeError);
    });
  },
);
