import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "vite";

// The built page is served by @countersign/server, and published with it.
export default defineConfig({
  root: import.meta.dirname,
  plugins: [shortProperties(), withoutMark()],
  // Calls of h() with children as arguments compress better than those of the automatic runtime.
  oxc: {
    jsx: { runtime: "classic", pragma: "h", pragmaFrag: "Fragment" },
    jsxInject: 'import { h, Fragment } from "preact"',
  },
  build: {
    outDir: fileURLToPath(new URL("../server/dist/page-files", import.meta.url)),
    emptyOutDir: true,
    // Browsers of 2024 and later: nothing is rewritten for older ones.
    target: ["chrome123", "firefox120", "safari17.5"],
    // Under the page's policy nothing may be inlined into the document.
    assetsInlineLimit: 0,
    modulePreload: false,
    cssCodeSplit: false,
    // As `const`, what is used once is written where it is used.
    rolldownOptions: { output: { topLevelVar: false }, optimization: { inlineConst: { mode: "all" } } },
    reportCompressedSize: false,
  },
});

/** Gives the properties of `styles/tokens.css` names of a letter or two. No script uses them. */
function shortProperties(): Plugin {
  const tokens = readFileSync(`${import.meta.dirname}/styles/tokens.css`, "utf8");
  const names = [...tokens.matchAll(/--[\w-]+(?=:)/g)].map(([name]) => name);
  const shortOf = (name: string): string =>
    names.includes(name) ? `--${names.indexOf(name).toString(36)}` : name;
  return {
    name: "short-properties",
    apply: "build",
    enforce: "pre",
    transform: { filter: { id: /\.css$/ }, handler: (code) => code.replaceAll(/--[\w-]+/g, shortOf) },
  };
}

/** Takes the mark away that Vite leaves at the end of the style, for itself. */
function withoutMark(): Plugin {
  return {
    name: "without-mark",
    enforce: "post",
    generateBundle(_, files) {
      for (const file of Object.values(files)) {
        if (file.type === "asset" && typeof file.source === "string")
          file.source = file.source.replace(/\n\/\*\$vite\$:\d+\*\/$/, "");
      }
    },
  };
}
