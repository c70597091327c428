import { certifyHost } from "./support/certify-host.ts";

certifyHost("Hono", { page: "docs/guides/hono.md", start: "node src/server.js" });
