import { certifyHost } from "./support/certify-host.ts";

/** What `sv create` installs, and the adapter of an app on Node. */
const APP =
  "npm install --save-dev @sveltejs/kit@2 @sveltejs/adapter-node@5 @sveltejs/vite-plugin-svelte@7 svelte@5 vite@8";

const FILES = {
  "svelte.config.js": `import adapter from "@sveltejs/adapter-node";
export default { kit: { adapter: adapter() } };
`,
  "vite.config.js": `import { sveltekit } from "@sveltejs/kit/vite";
export default { plugins: [sveltekit()] };
`,
  "src/app.html": "<!doctype html><html><head>%sveltekit.head%</head><body>%sveltekit.body%</body></html>\n",
};

certifyHost("SvelteKit", {
  page: "docs/guides/sveltekit.md",
  present: [APP],
  managers: ["pnpm"],
  // A built app takes such a request for a form of another site.
  failing: ["answers-415-to-other-media-types"],
  async start(project, port) {
    // Compiled code beside the sources would be a second route.
    const settings = JSON.parse(await project.read("tsconfig.json")) as { compilerOptions: object };
    const compilerOptions = { ...settings.compilerOptions, noEmit: true };
    await project.write("tsconfig.json", JSON.stringify({ ...settings, compilerOptions }));
    for (const [file, text] of Object.entries(FILES)) await project.write(file, text);
    await project.compile();
    await project.run("npx vite build");
    return project.start("node build", port, { PORT: String(port) });
  },
});
