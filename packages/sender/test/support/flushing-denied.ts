import { asData } from "../../../../tests/support/resolve-otherwise.ts";

/** For `--import`: Node flushes no file, as Node 26 under its permission model. Older ones still do by a handle. */
export const FLUSHING_DENIED = asData(`
  import { open } from "node:fs/promises";
  const file = await open(process.execPath);
  const handles = Object.getPrototypeOf(file);
  await file.close();
  handles.sync = handles.datasync = () =>
    Promise.reject(Object.assign(new Error("fsync API is disabled when Permission Model is enabled."), { code: "ERR_ACCESS_DENIED" }));
`);
