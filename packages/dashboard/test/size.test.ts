import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";

const FOLDER = fileURLToPath(new URL("../../server/dist/page-files/", import.meta.url));

function files(): readonly { readonly name: string; readonly content: Buffer }[] {
  if (!existsSync(FOLDER)) throw new Error("The page is not built. Run pnpm build.");
  return readdirSync(FOLDER, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name, parentPath }) => ({ name, content: readFileSync(`${parentPath}/${name}`) }));
}

it("script and style are one file each, and under 40 kB together, compressed", () => {
  const parts = files().filter(({ name }) => /\.(?:js|css)$/.test(name));
  expect(parts).toHaveLength(2);
  const bytes = parts.reduce((sum, { content }) => sum + gzipSync(content, { level: 9 }).length, 0);
  expect(bytes).toBeLessThan(40_000);
});

it("all files of the page add under 150 kB to the published package, compressed as it is published", () => {
  const all = Buffer.concat(files().map(({ content }) => content));
  expect(gzipSync(all).length).toBeLessThan(150_000);
});

it("no file of the page names another host, and none has script or style within the document", () => {
  for (const { name, content } of files()) {
    const text = content.toString();
    const hosts = text.match(/https?:\/\/[a-z0-9.-]+\.[a-z]{2,}/gi) ?? [];
    expect([name, hosts.filter((host) => !host.endsWith("//www.w3.org"))]).toEqual([name, []]);
  }
  const page =
    files()
      .find(({ name }) => name === "index.html")
      ?.content.toString() ?? "";
  expect(page).not.toMatch(/<style|<script(?![^>]*\bsrc=)|\sstyle=|\son\w+=/);
});
