import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { publicPackages } from "../../scripts/public-packages.mjs";

type Versions = Readonly<Record<string, string>>;

interface Lockfile {
  readonly importers: Readonly<
    Record<string, { readonly dependencies?: Readonly<Record<string, { readonly version: string }>> }>
  >;
  readonly packages: Readonly<
    Record<string, { readonly os?: readonly string[]; readonly cpu?: readonly string[] }>
  >;
  readonly snapshots: Readonly<
    Record<string, { readonly dependencies?: Versions; readonly optionalDependencies?: Versions }>
  >;
}

const { importers, packages, snapshots } = parse(
  readFileSync(new URL("../../pnpm-lock.yaml", import.meta.url), "utf8"),
) as Lockfile;

/** Packages that choose a binary by the system, with the names of all that they choose from. */
const native = Object.entries(snapshots).flatMap(([name, { optionalDependencies = {} }]) => {
  const choices = Object.keys(optionalDependencies);
  const isOneOfThem = name.includes("linux");
  return !isOneOfThem && choices.some((choice) => choice.includes("linux")) ? [{ name, choices }] : [];
});

// A lockfile that is written anew while the registry lacks some of them leaves them out, and says nothing.
describe("the lockfile", () => {
  it("has the linter, the formatter and the compiler among what is native", () => {
    const names = native.map(({ name }) => name.replace(/@[\d.]+(?:\(.*)?$/, ""));
    expect(names).toEqual(expect.arrayContaining(["libsql", "oxfmt", "oxlint-tsgolint", "typescript"]));
  });

  it.each(native)("installs $name on macOS and Windows, too", ({ choices }) => {
    for (const os of [/darwin/, /win32|windows/]) expect(choices).toContainEqual(expect.stringMatching(os));
  });
});

/** What the public packages cannot be installed without, directly or through others: names with versions. */
function required(): readonly string[] {
  const direct = publicPackages().flatMap(({ name }) =>
    Object.entries(importers[`packages/${name}`]?.dependencies ?? {}).map(([other, { version }]) =>
      keyOf(other, version),
    ),
  );
  const found = new Set(direct);
  // What is added while it is walked is walked, too.
  for (const key of found)
    for (const [name, version] of Object.entries(snapshots[key]?.dependencies ?? {}))
      found.add(keyOf(name, version));
  return [...found];
}

function keyOf(name: string, version: string): string {
  return `${name}@${version}`;
}

// npm installs nothing at all where one of them is not for the machine, as libsql is not for s390x, ppc64le and FreeBSD.
it("requires nothing for the public packages that is only for some platforms", () => {
  const keys = required();
  expect(keys).toEqual(expect.arrayContaining([expect.stringMatching(/^undici@/)]));
  const ofSomePlatforms = keys.filter((key) => {
    const { os, cpu } = packages[key.replace(/\(.*$/, "")] ?? {};
    return os !== undefined || cpu !== undefined;
  });
  expect(ofSomePlatforms).toEqual([]);
});
