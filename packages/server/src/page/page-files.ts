import { existsSync, readdirSync, readFileSync } from "node:fs";
import { extname } from "node:path";
import { PAGE_FOLDER } from "../package-files.ts";

/** A file of the page, as it is answered. */
export interface PageFile {
  /** Path in the URL, from the slash. */
  readonly path: string;
  readonly type: string;
  readonly content: Buffer;
  /** Whether its name changes with its content, so that it can be kept forever. */
  readonly hashed: boolean;
}

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

const NOT_BUILT = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Countersign</title>
<h1>The page is not built</h1><p>The server works. To build its page, run <code>pnpm build</code> in the repository.</p></html>`;

/** Reads the files of the page. In a repository where it was not built, the page says so. */
export function readPageFiles(folder: URL = PAGE_FOLDER): readonly PageFile[] {
  if (!existsSync(folder)) {
    return [{ path: "/", type: TYPES[".html"] ?? "", content: Buffer.from(NOT_BUILT), hashed: false }];
  }
  // Not with `recursive`: in the archives that Yarn's Plug'n'Play reads packages from, the entries do not know their folder.
  return ["", "assets/"].flatMap((inFolder) =>
    readdirSync(new URL(inFolder, folder)).flatMap((name) => {
      const type = TYPES[extname(name)];
      if (type === undefined) return [];
      const content = readFileSync(new URL(inFolder + name, folder));
      const path = name === "index.html" ? "/" : `/${inFolder}${name}`;
      return [{ path, type, content, hashed: inFolder !== "" }];
    }),
  );
}

/**
 * Whether a path belongs to the page's own files. They are the same for everyone and contain nothing about deliveries, so
 * they are answered without the token: the page asks for it.
 */
export function isPageFile(path: string): boolean {
  return path === "/" || path === "/icon.svg" || path.startsWith("/assets/");
}
