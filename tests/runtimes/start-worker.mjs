import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { Miniflare } from "miniflare";

/**
 * Starts the Worker, bundled as for deployment, under workerd.
 *
 * @param {readonly string[]} compatibilityFlags
 * @param {Record<string, string>} bindings
 * @param {{ entry?: string, port?: number }} [options] - The Worker's file, and the port; else worker.mjs, on any port.
 * @returns {Promise<{ url: URL, close(): Promise<void> }>}
 */
export async function startWorker(
  compatibilityFlags,
  bindings,
  { entry = fileURLToPath(new URL("worker.mjs", import.meta.url)), port = 0 } = {},
) {
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    write: false,
    format: "esm",
    target: "es2022",
    platform: "neutral",
    conditions: ["workerd", "worker", "browser"],
    mainFields: ["module", "main"],
    external: ["node:*"],
    logLevel: "warning",
  });
  const worker = new Miniflare({
    modules: true,
    script: outputFiles[0].text,
    compatibilityDate: "2026-04-01",
    compatibilityFlags: [...compatibilityFlags],
    bindings,
    // It tells of every request that the audits spoil on purpose.
    handleRuntimeStdio: (stdout, stderr) => void [stdout, stderr].map((stream) => stream.resume()),
    host: "127.0.0.1",
    port,
  });
  return { url: await worker.ready, close: () => worker.dispose() };
}
