import type { Bench } from "../harness/bench.ts";
import type { Row } from "../harness/row.ts";
import { bundledKilobytes } from "../support/bundle.ts";

const BUNDLES = [
  { what: "core, whole", code: 'export * from "@countersign/core";', most: 9 },
  { what: "core, verifyWebhook only", code: 'export { verifyWebhook } from "@countersign/core";', most: 5 },
  {
    what: "express with core",
    code: 'export * from "@countersign/express";',
    most: 8.5,
    external: ["express"],
  },
  // 11 KB of 1,024 bytes, as in its package.json.
  { what: "client", code: 'export * from "@countersign/client";', most: 11.264 },
];

export const size: Bench = {
  name: "size",
  about: "what an import adds to a bundle, minified and gzipped",
  async run({ progress }) {
    progress("sizes");
    const rows = BUNDLES.map(async ({ what, code, most, external }): Promise<Row> => ({
      what: `${what}, minified and gzipped`,
      against: "a fixed bound",
      unit: "kB",
      ours: await bundledKilobytes(code, external),
      target: { of: "ours", is: "at most", value: most },
    }));
    return { rows: await Promise.all(rows) };
  },
};
