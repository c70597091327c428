import { existsSync, statSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { describe, expect, it } from "vitest";
import { documents, read, root, sources } from "./support/documents.ts";

const DOCUMENTS = documents();

describe("a link of a document", () => {
  const links = DOCUMENTS.flatMap((file) => linksOf(file).map((href) => ({ file, href })));

  it("leads to a file or a folder that exists", () => {
    expect(links.length).toBeGreaterThan(400);
    const broken = links.filter(({ file, href }) => !existsSync(join(root, targetOf(file, href))));
    expect(broken).toEqual([]);
  });

  it("leads to a heading that exists", () => {
    const anchored = links.filter(({ href }) => href.includes("#"));
    expect(anchored.length).toBeGreaterThan(15);
    const broken = anchored.filter(({ file, href }) => {
      const target = targetOf(file, href);
      const document = statSync(join(root, target)).isDirectory() ? posix.join(target, "README.md") : target;
      return !anchorsOf(document).has(href.slice(href.indexOf("#") + 1));
    });
    expect(broken).toEqual([]);
  });
});

it("each page of the documentation is linked from another one, for those who read it without the site's menu", () => {
  const linked = new Set(
    DOCUMENTS.flatMap((file) =>
      linksOf(file).map((href) => ({ file, target: targetOf(file, href) })),
    ).flatMap(({ file, target }) => (target === file ? [] : [target])),
  );
  // The front page of the site, and the decisions, of which its page has a list.
  const pages = DOCUMENTS.filter((file) => /^docs\/(?!index\.md$|adr\/)/.test(file));
  expect(pages.length).toBeGreaterThan(30);
  expect(pages.filter((file) => !linked.has(file) && !linked.has(dirname(file)))).toEqual([]);
});

it("a document that a comment or a message of the code names exists", () => {
  const named = sources().flatMap((file) =>
    [...read(file).matchAll(/(?<![\w/.@-])(?:docs\/[\w/-]+|[A-Z]+)\.md\b/g)].map(([document]) => ({
      file,
      document,
    })),
  );
  expect(named.length).toBeGreaterThan(0);
  expect(named.filter(({ document }) => !existsSync(join(root, document)))).toEqual([]);
});

it("a path of the repository that a document names in code marks exists", () => {
  const named = DOCUMENTS.filter((file) => !file.startsWith("docs/errors/")).flatMap((file) =>
    [
      ...withoutBlocks(read(file)).matchAll(
        /`((?:packages|tests|tools|scripts|examples|bench|docs)\/[\w./-]+)`/g,
      ),
    ].map(([, path = ""]) => ({ file, path })),
  );
  expect(named.length).toBeGreaterThan(15);
  // Of what is built there is nothing before the build.
  expect(named.filter(({ path }) => !path.includes("/dist") && !existsSync(join(root, path)))).toEqual([]);
});

function withoutBlocks(text: string): string {
  return text.replaceAll(/^```[^]*?^```$/gm, "");
}

/** The relative links of a document. */
function linksOf(file: string): readonly string[] {
  const text = withoutBlocks(read(file)).replaceAll(/`[^`\n]*`/g, "code");
  const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, href = ""]) => href);
  return links.filter((href) => !/^(?:https?:|mailto:|\/)/.test(href));
}

function targetOf(file: string, href: string): string {
  const [path = ""] = href.split("#");
  return path === "" ? file : posix.join(dirname(file), decodeURI(path));
}

/** The anchors of a document's headings, as GitHub and the site make them. */
function anchorsOf(file: string): ReadonlySet<string> {
  const headings = [...withoutBlocks(read(file)).matchAll(/^#+ (.+)$/gm)].map(([, text = ""]) => text);
  return new Set(
    headings.map((text) =>
      text
        .replaceAll("`", "")
        .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
        .trim()
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
        .replaceAll(/\s/g, "-"),
    ),
  );
}
