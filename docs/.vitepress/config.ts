import { readFileSync } from "node:fs";
import { defineConfig } from "vitepress";
import { EARLY_SCRIPT } from "./theme/choices.ts";
import { packageManagers } from "./build/package-managers.ts";
import { repository } from "./build/repository.ts";
import { repositoryLinks } from "./build/repository-links.ts";
import { resolveFromHere } from "./build/resolve-from-here.ts";
import { searchOptions } from "./build/search-options.ts";
import { sidebar } from "./build/sidebar.ts";
import { writeMarkdownPages } from "./build/write-markdown-pages.ts";

/** The icon of the dashboard, within the pages: it needs no request. */
const ICON = `data:image/svg+xml;base64,${readFileSync(new URL("../../packages/dashboard/public/icon.svg", import.meta.url)).toString("base64")}`;

/** The whole site comes from the repository: the packages' READMEs appear at their place, and are not copied. */
export default defineConfig({
  title: "Countersign",
  description: "Verify, type and test the analytics webhooks your app receives.",
  lang: "en",
  cleanUrls: true,
  srcDir: "..",
  outDir: ".vitepress/dist",
  cacheDir: ".vitepress/cache",
  srcExclude: [
    "{.*,bench,examples,scripts,sbom,tests,tools}/**",
    "packages/*/{src,test,dist}/**",
    "packages/*/CHANGELOG.md",
    "*.md",
  ],
  rewrites: {
    "docs/:path*": ":path*",
    "packages/:name/README.md": "packages/:name/index.md",
  },
  head: [
    ["script", {}, EARLY_SCRIPT],
    ["link", { rel: "icon", href: ICON }],
  ],
  markdown: { config: (md) => void md.use(repositoryLinks).use(packageManagers) },
  themeConfig: {
    logo: { src: ICON, alt: "" },
    search: { provider: "local", options: searchOptions },
    nav: [
      { text: "Start", link: "/start/" },
      { text: "Guides", link: "/guides/401" },
      { text: "Reference", link: "/reference/" },
      { text: "Signature bench", link: "/signature-bench" },
    ],
    sidebar,
    outline: { level: [2, 3] },
    docFooter: { prev: "Previous", next: "Next" },
    ...(repository && { socialLinks: [{ icon: "github", link: repository }] }),
  },
  vite: { plugins: [resolveFromHere("vue")] },
  // The theme's front page has no main landmark.
  transformHtml: (html) =>
    html.replace('<div class="VPContent is-home"', '<div role="main" class="VPContent is-home"'),
  buildEnd: writeMarkdownPages,
});
