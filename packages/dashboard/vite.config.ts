import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

// The built page is served by @countersign/server, and published with it.
export default defineConfig({
  root: import.meta.dirname,
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: fileURLToPath(new URL("../server/dist/page-files", import.meta.url)),
    emptyOutDir: true,
    target: "es2022",
    // Under the page's policy nothing may be inlined into the document.
    assetsInlineLimit: 0,
    modulePreload: false,
    cssCodeSplit: false,
    reportCompressedSize: false,
  },
});
