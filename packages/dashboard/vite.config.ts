import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

// The built page is served by @countersign/server, and published with it.
export default defineConfig({
  root: import.meta.dirname,
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
    reportCompressedSize: false,
  },
});
