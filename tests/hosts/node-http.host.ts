import { certifyHost } from "./support/certify-host.ts";

certifyHost("node:http", { page: "docs/guides/node-http.md", start: "node src/server.js" });
