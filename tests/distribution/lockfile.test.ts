import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";

interface Lockfile {
  readonly snapshots: Readonly<
    Record<string, { readonly optionalDependencies?: Readonly<Record<string, string>> }>
  >;
}

const { snapshots } = parse(
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
