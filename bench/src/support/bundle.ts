import { gzipSync } from "node:zlib";
import * as esbuild from "esbuild";

/** The sizes of a bundle, in kilobytes of 1,000 bytes, minified and gzipped. */
export interface BundleSize {
  /** What is loaded at once. */
  readonly atOnce: number;
  /** What `import()` loads later, if anything needs it. */
  readonly onDemand: number;
}

/** Leaves out what `import()` loads, as bundlers do that put it into files of its own. */
const WITHOUT_DEMANDED: esbuild.Plugin = {
  name: "without what is loaded on demand",
  setup(build) {
    build.onResolve({ filter: /./ }, ({ kind, path }) =>
      kind === "dynamic-import" ? { external: true, path } : undefined,
    );
  },
};

/**
 * The size of a module and what it imports. Node's own modules and `external` do not count.
 *
 * @param folder - Where its imports are resolved from.
 */
export async function bundleSize(
  code: string,
  folder: string,
  external: readonly string[] = [],
): Promise<BundleSize> {
  const kilobytes = async (plugins: esbuild.Plugin[]): Promise<number> => {
    const { outputFiles } = await esbuild.build({
      stdin: { contents: code, resolveDir: folder, loader: "js" },
      bundle: true,
      minify: true,
      write: false,
      format: "esm",
      platform: "node",
      target: "node20",
      legalComments: "none",
      external: [...external],
      plugins,
    });
    const bytes = outputFiles.reduce((sum, { contents }) => sum + gzipSync(contents, { level: 9 }).length, 0);
    return bytes / 1_000;
  };
  const atOnce = await kilobytes([WITHOUT_DEMANDED]);
  return { atOnce, onDemand: (await kilobytes([])) - atOnce };
}
