import { certifyHost } from "./support/certify-host.ts";

certifyHost("Fastify", {
  page: "docs/start/index.md",
  framework: "fastify",
  start: "node src/server.js",
  test: "node test/receiver.js",
});
