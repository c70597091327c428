import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { spawnArguments } from "../../scripts/command-files.mjs";

/** What cmd.exe makes of a line without open quotes: a caret takes the meaning from what follows. */
function readByShell(line: string): string {
  expect(line.replaceAll(/\^[^]/g, "")).not.toMatch(/[%!"<>&|]/);
  return line.replaceAll(/\^([^])/g, "$1");
}

/** The arguments that a program of Windows reads from its line. */
function readByProgram(line: string): readonly string[] {
  const pattern = /(?:[^\s"]|"(?:[^"\\]|\\.)*")+/g;
  return (line.match(pattern) ?? []).map((word) =>
    word.startsWith('"') ? word.slice(1, -1).replaceAll('\\"', '"') : word,
  );
}

/** What has a meaning to a shell or to a program, and some that has none. */
const SPECIAL = "ab /:%!^\"'<>&|()[];,*?`$-=".split("");

describe("a command of the repository's scripts", () => {
  it("is run without a shell where the system can, so that nothing needs quotes", () => {
    const args = ["run", "a b", '"', "$HOME"];
    expect(spawnArguments("pnpm", args, "linux")).toEqual(["pnpm", args, { shell: false }]);
    expect(spawnArguments("git", args, "win32")).toEqual(["git", args, { shell: false }]);
  });

  it("is one line for the shell of Windows, plain where nothing has a meaning there", () => {
    const args = ["-y", "pnpm@12.21.0", "run", String.raw`C:\Users\RUNNER~1\x.tgz`];
    expect(spawnArguments("npx", args, "win32")).toEqual([["npx", ...args].join(" "), [], { shell: true }]);
  });

  it("gets its arguments through that shell and the command file as they were given", () => {
    // A backslash before a quote of the text is what differs between programs; paths have none.
    const argument = fc.string({ unit: fc.constantFrom(...SPECIAL) });
    fc.assert(
      fc.property(fc.array(argument, { minLength: 1, maxLength: 4 }), (args) => {
        const [line, rest, options] = spawnArguments("npx", args, "win32");
        expect([rest, options]).toEqual([[], { shell: true }]);
        expect(readByProgram(readByShell(readByShell(line)))).toEqual(["npx", ...args]);
      }),
    );
  });
});
