import { certifyHost } from "./support/certify-host.ts";

certifyHost("Express", {
  page: "docs/start/index.md",
  framework: "express",
  start: "node src/server.js",
  test: "node test/receiver.js",
});
