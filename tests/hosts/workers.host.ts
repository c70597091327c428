import { join } from "node:path";
import { startWorker } from "../runtimes/start-worker.mjs";
import { certifyHost } from "./support/certify-host.ts";

certifyHost("Workers", {
  page: "docs/guides/workers.md",
  async start(project, port) {
    await project.compile();
    const worker = await startWorker(
      [],
      { WEBHOOK_SECRET: "the shared secret" },
      { entry: join(project.folder, "src/worker.ts"), port },
    );
    return { printed: () => "", stop: () => worker.close() };
  },
});
