import { certifyHost } from "./support/certify-host.ts";
import { loadModule, serveFetch } from "./support/in-process.ts";

type Handler = (event: { readonly request: Request }) => Promise<Response>;

certifyHost("SvelteKit", {
  page: "docs/guides/sveltekit.md",
  present: ["npm install --save-dev @sveltejs/kit@2"],
  managers: ["pnpm"],
  async start(project, port) {
    const { POST } = await loadModule<{ POST: Handler }>(project, "src/routes/webhooks/+server.js");
    return serveFetch((request) => POST({ request }), port);
  },
});
