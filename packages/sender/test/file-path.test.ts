import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { looksLikeUrl, sqliteStore } from "@countersign/sender";
import { describe, expect, it } from "vitest";
import { isWindows, noPosix } from "../../core/test/support/windows.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

describe("what should be a path", () => {
  it.each([
    "file:x",
    "file:x.db?mode=memory",
    "file:///srv/x",
    "FILE:///srv/x",
    "postgres://user:pa55word@127.0.0.1/app",
    "postgresql://127.0.0.1/app",
    "libsql://example.com",
    "git+ssh://example.com/x",
  ])("is a URL: %s", (text) => {
    expect(looksLikeUrl(text)).toBe(true);
    expect(() => sqliteStore({ path: text })).toThrow(
      new TypeError('sqliteStore({ path }) must be the path of a file, or ":memory:", not a URL.'),
    );
  });

  it.each([
    "C:\\x",
    "C:/x",
    "c://x",
    "\\\\?\\C:\\x",
    "\\\\server\\share\\x",
    "shop:1/x.db",
    "shop:1//x.db",
    "files:x",
    "./file:x",
    "/srv/file:///x",
    "data/postgres://x",
    "1a://x",
    ":memory:",
    "100%.db",
    "a%20b.db",
    "a?mode=memory",
    "a#b.db",
  ])("is a path: %s", (text) => {
    expect(looksLikeUrl(text)).toBe(false);
    expect(() => sqliteStore({ path: text })).not.toThrow();
  });

  it("does not show an object, which may be the URL of a database with a password", () => {
    const path = new URL("postgres://user:pa55word@127.0.0.1/app") as never;
    expect(() => sqliteStore({ path })).toThrow(
      new TypeError('sqliteStore({ path }) must be the path of a file, or ":memory:", not an object.'),
    );
  });
});

it.skipIf(isWindows)(`files get the names that they were given, letter by letter${noPosix}`, () => {
  const names = ["100%.db", "a b.db", "a%20b.db", "a?mode=memory", "a#b.db", "shop:1.db"];
  const cwd = temporaryFolder();
  const script = `
    import { createSender, sqliteStore } from ${JSON.stringify(import.meta.resolve("@countersign/sender"))};
    for (const path of ${JSON.stringify([...names, ":memory:"])}) {
      const sender = await createSender({ url: "http://127.0.0.1:9/", store: sqliteStore({ path }) });
      await sender.close();
    }`;
  execFileSync(process.execPath, ["--input-type=module", "-e", script], { cwd });
  expect(
    readdirSync(cwd)
      .filter((name) => !name.endsWith("-lock"))
      .toSorted(),
  ).toEqual(names.toSorted());
});
