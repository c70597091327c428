import { certifyHost } from "./support/certify-host.ts";

certifyHost("Google Cloud Functions", {
  page: "docs/guides/cloud-functions.md",
  managers: ["pnpm"],
  // The platform reads the whole body before the function runs, and parses it.
  failing: ["rejects-declared-oversize", "rejects-chunked-oversize", "answers-413-to-oversize"],
  async start(project, port) {
    await project.compile();
    return project.start(
      `npx functions-framework --source=src/index.js --target=receive --port=${port}`,
      port,
    );
  },
});
