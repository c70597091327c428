import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { certifyHost } from "./support/certify-host.ts";
import { loadModule, serveFetch } from "./support/in-process.ts";
import { programFolder } from "./support/program.ts";

type Handler = (context: { readonly request: Request }) => Promise<Response>;

const PAGE = "docs/guides/other-frameworks.md";

/** The line that the page's table has for a framework. */
function lineFor(framework: string): string {
  const page = readFileSync(fileURLToPath(new URL(`../../${PAGE}`, import.meta.url)), "utf8");
  const row = page.split("\n").find((line) => line.startsWith(`| ${framework} `)) ?? "";
  return /`(app\..+?)`/.exec(row)?.[1] ?? "";
}

// Astro itself needs Node 22.
certifyHost("Astro", {
  page: PAGE,
  managers: ["pnpm"],
  async start(project, port) {
    const { ALL } = await loadModule<{ ALL: Handler }>(project, "src/pages/webhooks.js");
    return serveFetch((request) => ALL({ request }), port);
  },
});

certifyHost("h3 2", {
  page: PAGE,
  present: ["npm install h3@2"],
  managers: ["pnpm"],
  async start(project, port) {
    await project.compile();
    await project.write(
      "server.js",
      `import { H3, serve } from "h3";
import { receive } from "./src/receive.js";
const app = new H3();
${lineFor("h3 2")};
serve(app, { port: ${port}, hostname: "localhost" });
`,
    );
    return project.start("node server.js", port);
  },
});

certifyHost("Elysia", {
  page: PAGE,
  present: ["npm install elysia@1"],
  managers: ["pnpm"],
  async start(project, port) {
    await project.write(
      "server.ts",
      `import { Elysia } from "elysia";
import { receive } from "./src/receive.ts";
const app = new Elysia();
${lineFor("Elysia")};
app.listen({ port: ${port}, hostname: "localhost" });
`,
    );
    return project.start("bun server.ts", port, {
      PATH: `${await programFolder("bun@1.4.5", "bun")}:${process.env["PATH"]}`,
    });
  },
});
