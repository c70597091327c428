import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const CHILD = fileURLToPath(new URL("../support/child-archive.mjs", import.meta.url));

it("serves the page and its files where directory entries do not know their folder", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [CHILD]);
  const { page, files, ok } = JSON.parse(stdout) as { page: number; files: string[]; ok: boolean };
  expect({ page, ok }).toEqual({ page: 200, ok: true });
  expect(files).toEqual(expect.arrayContaining([expect.stringMatching(/^\/assets\/.*\.js$/), "/icon.svg"]));
});
