import { readFileSync } from "node:fs";
import { parseJson } from "@countersign/protocol";

const manifest = parseJson(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  readonly version: string;
};

/** The version of this package. */
export const version: string = manifest.version;
