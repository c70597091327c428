const OF_LATER_NODES = ["--allow-net"];

/**
 * Options of Node under which a program may read and write files, and load compiled packages, and no more. Newer versions have another
 * name for the first, and forbid more.
 */
export const UNDER_PERMISSIONS: readonly string[] = [
  isKnown("--permission") ? "--permission" : "--experimental-permission",
  "--allow-fs-read=*",
  "--allow-fs-write=*",
  "--allow-addons",
  ...OF_LATER_NODES.filter((flag) => isKnown(flag)),
];

function isKnown(flag: string): boolean {
  return process.allowedNodeEnvironmentFlags.has(flag);
}
