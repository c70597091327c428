import type { DefaultTheme } from "vitepress";

/** Of generated lists, only the names are searched: their text is in the guides and READMEs, too. */
export const searchOptions: DefaultTheme.LocalSearchOptions = {
  _render(source, env, md) {
    if (env.frontmatter?.["search"] === false) return "";
    const isList = /^docs\/(?:api\/|reference\/(?:commands|operations|options)\.md$)/.test(env.relativePath);
    // A search finds no colours, and giving code its colours is most of the work.
    const { highlight } = md.options;
    md.set({ highlight: plain });
    try {
      return md.render(isList ? namesIn(source) : source, env);
    } finally {
      md.set({ highlight });
    }
  },
  miniSearch: {
    searchOptions: { fuzzy: 0.2, prefix: true, boost: { title: 4, text: 2, titles: 1 } },
  },
};

/** The headings that name an export. */
function namesIn(source: string): string {
  return source
    .split("\n")
    .filter((line) => /^#{1,3} /.test(line))
    .join("\n\n");
}

/** Code as it is, for HTML. */
function plain(code: string): string {
  return `<pre><code>${code.replaceAll("&", "&#x26;").replaceAll("<", "&#x3C;")}</code></pre>`;
}
