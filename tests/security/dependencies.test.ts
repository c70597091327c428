import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { spawnArguments } from "../../scripts/command-files.mjs";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly private?: boolean;
  readonly packageManager?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

interface Bom {
  readonly bomFormat: string;
  readonly metadata: { readonly component: { readonly purl: string } };
  readonly components: readonly { readonly purl: string }[];
}

async function readJson<T>(...path: string[]): Promise<T> {
  return JSON.parse(await readFile(join(root, ...path), "utf8")) as T;
}

const published = await Promise.all(
  (await readdir(join(root, "packages"))).map((folder) =>
    readJson<Manifest>("packages", folder, "package.json"),
  ),
).then((manifests) => manifests.filter((manifest) => !manifest.private));

// Users must be able to take the fix of a dependency without waiting for a release of ours.
const RANGE = /^(?:\^\d|workspace:\^$)/;

describe.each(published)(
  "$name",
  ({ dependencies = {}, optionalDependencies = {}, peerDependencies = {} }) => {
    it("depends on ranges, never on exact versions", () => {
      const exact = Object.entries({ ...dependencies, ...optionalDependencies }).filter(
        ([, range]) => !RANGE.test(range),
      );
      expect(exact).toEqual([]);
      for (const range of Object.values(peerDependencies)) expect(range).toMatch(/^\^/);
    });
  },
);

describe("the software bill of materials", () => {
  let folder: string;
  const boms = new Map<string, Bom>();

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "countersign-sbom-"));
    const { packageManager = "" } = await readJson<Manifest>("package.json");
    const { scripts } = await readJson<{ scripts: Record<string, string> }>("package.json");
    const [, ...command] = (scripts["run:sbom"] ?? "").replaceAll('"', "").split(" ");
    const args = command.map((word) => word.replace(/^sbom\//, `${folder}/`));
    const [program, given, options] = spawnArguments("npx", ["-y", packageManager, ...args]);
    await run(program, given, { ...options, cwd: root });
    for (const file of await readdir(folder)) {
      const bom = JSON.parse(await readFile(join(folder, file), "utf8")) as Bom;
      boms.set(decodeURIComponent(bom.metadata.component.purl), bom);
    }
  }, 120_000);
  afterAll(() => rm(folder, { recursive: true }));

  it.each(published)(
    "of $name lists what it installs, with versions",
    ({ name, version, dependencies = {} }) => {
      const bom = boms.get(`pkg:npm/${name}@${version}`);
      expect(bom?.bomFormat).toBe("CycloneDX");
      const listed = (bom?.components ?? []).map(({ purl }) => decodeURIComponent(purl));
      for (const purl of listed) expect(purl).toMatch(/^pkg:npm\/.+@\d+\.\d+\.\d+/);
      for (const dependency of Object.keys(dependencies)) {
        expect(listed).toContainEqual(expect.stringMatching(new RegExp(`^pkg:npm/${dependency}@`)));
      }
    },
  );
});
