import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import onPostgres from "../../packages/postgres/test/sender/vitest.config.ts";
import { testsOf } from "../../vitest.shared.ts";
import { canonical, ownZone } from "./zones.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Two offsets that are no whole hours, one beyond the date line, one with daylight saving, and UTC. */
const ZONES = ["America/St_Johns", "Asia/Kolkata", "Pacific/Apia", "America/New_York", "UTC"];

/** The tests whose subject is time, and one that they run in their zone. */
const FILES = [
  "packages/protocol/test/clock.test.ts",
  "packages/protocol/test/record-call.test.ts",
  "packages/protocol/test/retry-after.test.ts",
  "packages/protocol/test/timestamps.test.ts",
  "packages/client/test/retry.test.ts",
  "packages/client/test/rules.test.ts",
  "packages/server/test/ingest/interpret-request.test.ts",
  "packages/server/test/ingest/timestamps.test.ts",
  "packages/sender/test/calls.test.ts",
  "packages/sender/test/four-hours.test.ts",
  "packages/sender/test/retry-policy.test.ts",
  "tests/timezones/zone.test.ts",
];

for (const file of FILES)
  if (!existsSync(join(root, file)))
    throw new Error(`${file} does not exist. Correct FILES in tests/timezones/vitest.config.ts.`);

// Where there is a server. In one zone: a store has times as numbers, and each test of this takes a schema of its own.
const allOnPostgres = onPostgres.test?.include ?? [];
const onPostgresToo = allOnPostgres.filter((file) => file === "test/calls.test.ts");
if (allOnPostgres.length > 0 && onPostgresToo.length === 0)
  throw new Error(`The tests on PostgreSQL have no calls.test.ts. Correct tests/timezones/vitest.config.ts.`);

// `npm test` runs these in the machine's own.
const others = ZONES.filter((zone) => canonical(zone) !== ownZone());
const report = process.env["VITEST_REPORT"];

// `pnpm test:timezones`. One process for all zones, and a project for each: Vitest starts its workers with the project's TZ.
export default defineConfig({
  test: {
    reporters: report === undefined ? ["default"] : ["default", ["json", { outputFile: report }]],
    projects: [
      ...others.map((zone) =>
        testsOf(zone, {
          root,
          include: FILES,
          env: { TZ: zone },
          setupFiles: join(root, "packages/server/test/support/each-file.ts"),
        }),
      ),
      ...others.slice(0, 1).map((zone) => ({
        test: {
          ...onPostgres.test,
          name: `${zone}, on PostgreSQL`,
          include: onPostgresToo,
          env: { ...onPostgres.test?.env, TZ: zone },
        },
      })),
    ],
  },
});
