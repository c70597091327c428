import type { Bench } from "../harness/bench.ts";
import type { Row } from "../harness/row.ts";
import { bundleSize } from "../support/bundle.ts";
import { withPublished } from "../support/published.ts";

/** What an app may import, and how large that may be. */
export interface Bundle {
  readonly what: string;
  /** A module that imports it. */
  readonly code: string;
  /** In kilobytes of 1,000 bytes, minified and gzipped. */
  readonly most: number;
  readonly external?: readonly string[];
}

export const BUNDLES: readonly Bundle[] = [
  { what: "core, whole", code: 'export * from "@countersign/core";', most: 9 },
  { what: "core, verifyWebhook only", code: 'export { verifyWebhook } from "@countersign/core";', most: 5 },
  {
    what: "express with core",
    code: 'export * from "@countersign/express";',
    most: 8.5,
    external: ["express"],
  },
  // 11 KB of 1,024 bytes. Its package.json has a bound that it meets, so that it does not grow.
  { what: "client", code: 'export * from "@countersign/client";', most: 11.264 },
];

export const size: Bench = {
  name: "size",
  about: "what an import of a published package adds to a bundle and is loaded at once, minified and gzipped",
  run({ progress }) {
    progress("sizes");
    return withPublished(async (folder) => {
      const rows = BUNDLES.map(async ({ what, code, most, external }): Promise<Row> => {
        const { atOnce, onDemand } = await bundleSize(code, folder, external);
        // A difference of gzipped sizes: less than this is nothing.
        const more = onDemand < 0.1 ? "" : `; ${onDemand.toFixed(1)} kB more on demand`;
        return {
          what: `${what}, minified and gzipped`,
          against: `a fixed bound${more}`,
          unit: "kB",
          ours: atOnce,
          target: { of: "ours", is: "at most", value: most },
        };
      });
      return { rows: await Promise.all(rows) };
    });
  },
};
