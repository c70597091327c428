import { certifyHost } from "./support/certify-host.ts";

/** Nuxt and Nitro import it by themselves. */
const IMPORT = 'import { defineEventHandler } from "h3";\n';

const SERVER = `import { createServer } from "node:http";
import { createApp, createRouter, toNodeListener } from "h3";
import webhooks from "./server/routes/webhooks.js";

const router = createRouter().use("/webhooks", webhooks);
createServer(toNodeListener(createApp().use(router))).listen(Number(process.env["PORT"]), "localhost");
`;

// Nitro traps what nothing catches; without it, such an error ends the process, and the audits fail.
certifyHost("h3 1, on which Nuxt and Nitro 2 stand", {
  page: "docs/guides/nuxt.md",
  present: ["npm install h3@1"],
  managers: ["pnpm"],
  change: (code) => IMPORT + code,
  async start(project, port) {
    await project.write("server.ts", SERVER);
    await project.compile();
    return project.start("node server.js", port, { PORT: String(port) });
  },
});
