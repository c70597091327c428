import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { fileURLToPath } from "node:url";

const FOLDER = fileURLToPath(new URL("../..", import.meta.url));

/** Kilobytes of 1,000 bytes of a module and what it imports, minified and gzipped. Node's own modules and `external` do not count. */
export async function bundledKilobytes(code: string, external: readonly string[] = []): Promise<number> {
  const { outputFiles } = await build({
    stdin: { contents: code, resolveDir: FOLDER, loader: "js" },
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    platform: "node",
    target: "node20",
    legalComments: "none",
    external: [...external],
  });
  const bytes = outputFiles.reduce((sum, { contents }) => sum + gzipSync(contents, { level: 9 }).length, 0);
  return bytes / 1_000;
}
