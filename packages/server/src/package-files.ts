// What this package finds beside its code. It stands in src itself: published, the code is in bundles, all of them in dist.
import { readFileSync } from "node:fs";
import { parseJson } from "@countersign/protocol";

const manifest = parseJson(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  readonly version: string;
};

/** The version of this package. */
export const version: string = manifest.version;

/** Where the build of packages/dashboard puts the files of the page. */
export const PAGE_FOLDER: URL = new URL("./page-files/", import.meta.url);
