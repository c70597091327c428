import { certifyHost } from "./support/certify-host.ts";

certifyHost("Koa", {
  page: "docs/start/index.md",
  framework: "koa",
  start: "node src/server.js",
  test: "node test/receiver.js",
});
