/**
 * A runtime that runs as a process of its own, through its npm package.
 *
 * @typedef {object} ProcessRuntime
 * @property {string} name - How the version it must be begins.
 * @property {string} package - For `npx -y -p`.
 * @property {readonly [string, ...string[]]} command - The program of that package, and what comes before the script.
 * @property {Readonly<Record<string, string>>} impossible - Audits that the runtime's own server fails before any
 *   handler is asked, and why. The script fails when one of them passes: then it has to go from here.
 */

/** @type {readonly ProcessRuntime[]} */
export const processRuntimes = [
  { name: "Node 20", package: "node@20", command: ["node"], impossible: {} },
  { name: "Node 22", package: "node@22", command: ["node"], impossible: {} },
  { name: "Node 24", package: "node@24", command: ["node"], impossible: {} },
  { name: "Node 26", package: "node@26", command: ["node"], impossible: {} },
  { name: "Bun 1.4.5", package: "bun@1.4.5", command: ["bun"], impossible: {} },
  {
    name: "Deno 2.9.6",
    package: "deno@2.9.6",
    command: ["deno", "run", "-A", "--node-modules-dir=manual"],
    impossible: {},
  },
];

/**
 * workerd, run by miniflare in this process.
 *
 * @typedef {object} WorkerRuntime
 * @property {string} name
 * @property {readonly string[]} compatibilityFlags
 * @property {Readonly<Record<string, string>>} impossible - As above.
 */

/** @type {readonly WorkerRuntime[]} */
export const workerRuntimes = [
  { name: "workerd", compatibilityFlags: [], impossible: {} },
  { name: "workerd with node:*", compatibilityFlags: ["nodejs_compat"], impossible: {} },
];
