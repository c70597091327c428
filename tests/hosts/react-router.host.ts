import { certifyHost } from "./support/certify-host.ts";
import { loadModule, serveFetch } from "./support/in-process.ts";

type Handler = (args: { readonly request: Request }) => Promise<Response>;

certifyHost("React Router", {
  page: "docs/guides/react-router.md",
  present: ["npm install react-router@7 react@19 react-dom@19"],
  managers: ["pnpm"],
  async start(project, port) {
    const { action, loader } = await loadModule<{ action: Handler; loader: Handler }>(
      project,
      "app/routes/webhooks.js",
    );
    return serveFetch((request) => (request.method === "GET" ? loader : action)({ request }), port);
  },
});
