import { existsSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { MarkdownEnv, MarkdownRenderer } from "vitepress";
import { repository } from "./repository.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));

/**
 * Lets documents link as they do in the repository: by relative path, to documents, folders and sources alike.
 *
 * A link to a document becomes a link to its page. A link to a source leads to the repository, if its address is known;
 * otherwise only the text stays.
 */
export function repositoryLinks(md: MarkdownRenderer): void {
  md.core.ruler.push("repository-links", ({ tokens, env }) => {
    // Where the document is in the repository; `path` is where it is on the site. A title is rendered without either.
    const { realPath, path } = env as Partial<MarkdownEnv> & { readonly realPath?: string };
    const file = realPath ?? path;
    if (file === undefined) return;
    const folder = dirname(file);
    for (const token of tokens) {
      if (token.type !== "inline") continue;
      const opened: boolean[] = [];
      token.children = (token.children ?? []).filter((child) => {
        if (child.type === "link_close") return opened.pop() ?? true;
        if (child.type !== "link_open") return true;
        const target = targetOf(String(child.attrGet("href")), folder);
        if (target !== undefined) child.attrSet("href", target);
        opened.push(target !== undefined);
        return target !== undefined;
      });
    }
  });
}

/** Where a link leads on the site; undefined when it leads to nothing that the site can show. */
function targetOf(href: string, folder: string): string | undefined {
  if (/^([a-z]+:|\/|#)/i.test(href)) return href;
  const [path = "", hash = ""] = href.split(/(?=#)/);
  const file = join(folder, decodeURI(path));
  if (!existsSync(file)) throw new Error(`${relative(root, folder)}: ${href} leads nowhere`);
  const isFolder = statSync(file).isDirectory();
  const page = pageOf(relative(root, isFolder ? join(file, "README.md") : file).replaceAll("\\", "/"));
  if (page !== undefined) return page + hash;
  if (repository === undefined) return undefined;
  return `${repository}/${isFolder ? "tree" : "blob"}/main/${relative(root, file).replaceAll("\\", "/")}${hash}`;
}

/** The page of a document, by its path in the repository. */
export function pageOf(file: string): string | undefined {
  const [, name] = /^packages\/([^/]+)\/README\.md$/.exec(file) ?? [];
  if (name !== undefined) return `/packages/${name}/`;
  const [, path] = /^docs\/(.+)\.md$/.exec(file) ?? [];
  return path === undefined ? undefined : `/${path.replace(/(^|\/)index$/, "$1")}`;
}
