import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { publicPackages } from "../../scripts/public-packages.mjs";
import { writeVersions } from "../../scripts/set-versions.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const VERSION_FILE = "packages/client/src/version.ts";
const EXAMPLE = "examples/next/package.json";

it("a release has its version in every file: one that is left out fails the tests of the tag, or installs nothing", () => {
  const copy = mkdtempSync(join(tmpdir(), "countersign-versions-"));
  onTestFinished(() => rmSync(copy, { recursive: true, force: true }));
  const manifests = publicPackages().map(({ folder }) => join(relative(root, folder), "package.json"));
  for (const file of [...manifests, VERSION_FILE, EXAMPLE]) cpSync(join(root, file), join(copy, file));
  // As changesets does.
  for (const file of manifests) {
    const manifest = JSON.parse(readFileSync(join(copy, file), "utf8")) as object;
    writeFileSync(join(copy, file), JSON.stringify({ ...manifest, version: "7.8.9" }));
  }

  writeVersions(copy);

  expect(readFileSync(join(copy, VERSION_FILE), "utf8")).toContain('VERSION: string = "7.8.9"');
  const example = JSON.parse(readFileSync(join(copy, EXAMPLE), "utf8")) as { readonly dependencies: object };
  expect(example.dependencies).toMatchObject({ "@countersign/fetch": "^7.8.9" });
});

it("the example for Next.js, which is not part of the workspace, asks for the present version", () => {
  const fetch = publicPackages().find(({ name }) => name === "fetch");
  const { version } = JSON.parse(readFileSync(join(fetch?.folder ?? "", "package.json"), "utf8")) as {
    readonly version: string;
  };
  const example = JSON.parse(readFileSync(join(root, EXAMPLE), "utf8")) as { readonly dependencies: object };

  expect(example.dependencies).toMatchObject({ "@countersign/fetch": `^${version}` });
});

it("every package runs on the same versions of Node: the README names them once for all", () => {
  const files = [
    "package.json",
    ...publicPackages().map(({ folder }) => relative(root, join(folder, "package.json"))),
  ];
  const engines = files.map((file) => {
    const manifest = JSON.parse(readFileSync(join(root, file), "utf8")) as { readonly engines?: object };
    return [file, manifest.engines];
  });
  const [, ofRoot] = engines[0] ?? [];

  expect(ofRoot).toBeDefined();
  expect(engines).toEqual(files.map((file) => [file, ofRoot]));
});
