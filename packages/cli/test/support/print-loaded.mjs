// Prints the path of each file that a process loads, as a preload: node --import ./print-loaded.mjs
import { writeSync } from "node:fs";
import { register } from "node:module";
import { isMainThread } from "node:worker_threads";

// The hooks run in a thread of their own, which loads this file again.
if (isMainThread) register(import.meta.url);

export async function load(url, context, next) {
  if (url.startsWith("file:")) writeSync(2, `loads ${url}\n`);
  return next(url, context);
}
