import { join } from "node:path";
import { inject } from "vitest";

/** The folder of the `countersign` package as it is published: for projects that `published.ts` sets up. */
export const commandFolder: string = join(inject("published"), "node_modules", "countersign");

/** The file that `countersign` runs. */
export const bin: string = join(commandFolder, "dist", "bin.js");
