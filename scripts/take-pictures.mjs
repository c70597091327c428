// Takes the pictures of the README anew: runs their test, with the variable that says so, then compresses what it wrote.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const { status } = spawnSync(
  process.execPath,
  ["node_modules/vitest/vitest.mjs", "run", "packages/dashboard/test/browser/pictures.test.ts"],
  { cwd: root, stdio: "inherit", env: { ...process.env, COUNTERSIGN_PICTURES: "1" } },
);
process.exitCode = status ?? 1;

if (status === 0) {
  const pictures = readdirSync(`${root}docs/images`).filter((name) => name.endsWith(".png"));
  const compressed = spawnSync("optipng", ["-quiet", "-o5", ...pictures], {
    cwd: `${root}docs/images`,
    stdio: "inherit",
  });
  if (compressed.status !== 0) {
    // A page of the site has at most 300 kB with its pictures.
    console.error(
      "The pictures are not compressed. Install optipng, as the Debian package optipng, and run this again.",
    );
    process.exitCode = 1;
  }
}
