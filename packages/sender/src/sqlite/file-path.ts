import { describeValue } from "@countersign/protocol";
import { resolve } from "node:path";

/** A name may have a colon in it, and one letter is a drive of Windows. */
const URL_START = /^(?:file:|[a-z][a-z\d+.-]+:\/\/)/iu;

/**
 * Whether what should be a path begins like a URL, as `file:data` and `postgres://127.0.0.1/app` do, and `C:\data` and `shop:1/data`
 * do not. The system would make folders named after the parts of a URL.
 *
 * An error must not repeat it: the URL of a database may have a password in it.
 */
export function looksLikeUrl(path: string): boolean {
  return URL_START.test(path);
}

/**
 * The absolute path of a file.
 *
 * @param must What the option must be, for the error.
 * @throws TypeError when it is a URL, is empty, or is no text
 */
export function filePathOf(path: string, must: string): string {
  const isUrl = typeof path === "string" && looksLikeUrl(path);
  if (isUrl || typeof path !== "string" || path === "")
    throw new TypeError(`${must}, not ${isUrl ? "a URL" : describeValue(path)}.`);
  return resolve(path);
}
