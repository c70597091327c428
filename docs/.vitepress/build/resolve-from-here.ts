import { fileURLToPath } from "node:url";
import type { UserConfig } from "vitepress";

type Plugin = Extract<
  NonNullable<NonNullable<UserConfig["vite"]>["plugins"]>[number],
  { readonly name: string }
>;

/** With slashes, as Vite writes paths on every system. */
const here = fileURLToPath(new URL("../../index.md", import.meta.url)).replaceAll("\\", "/");

/** Lets pages outside this folder, such as the packages' READMEs, import a dependency of the site. */
export function resolveFromHere(name: string): Plugin {
  return {
    name: "resolve-from-here",
    enforce: "pre",
    resolveId(source, importer, options) {
      const isMeant = source === name || source.startsWith(`${name}/`);
      if (!isMeant || importer === undefined || importer === here || !importer.endsWith(".md"))
        return undefined;
      return this.resolve(source, here, { ...options, skipSelf: true });
    },
  };
}
