import { certifyHost } from "./support/certify-host.ts";

/** What `create-next-app` installs. */
const APP = "npm install next@16 react@19 react-dom@19";
const TYPES = "npm install --save-dev typescript@5.9.3 @types/react@19";

certifyHost("Next.js", {
  page: "docs/guides/next.md",
  present: [APP, TYPES],
  // A build is long; examples.host.ts does the same with npm.
  managers: ["pnpm"],
  async start(project, port) {
    // Next writes its own.
    await project.write("tsconfig.json", "{}");
    // As a build server does: without the secret.
    await project.run("npx next build");
    return project.start('WEBHOOK_SECRET="the shared secret" npx next start', port, { PORT: String(port) });
  },
});
