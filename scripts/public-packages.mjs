// The packages that are published.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/**
 * The public packages of a copy of the repository.
 *
 * @param {string} root
 */
export function publicPackages(root = ROOT) {
  return readdirSync(join(root, "packages"))
    .map((name) => {
      const folder = join(root, "packages", name);
      return { name, folder, manifest: JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) };
    })
    .filter(({ manifest }) => !manifest.private);
}
