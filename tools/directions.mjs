/** Which packages each package may import (ARCHITECTURE.md, "Directions"). */
export const ALLOWED_DIRECTIONS = {
  protocol: [],
  core: ["protocol"],
  express: ["core", "protocol"],
  fastify: ["core", "protocol"],
  koa: ["core", "protocol"],
  fetch: ["core", "protocol"],
  nestjs: ["core", "protocol"],
  redis: ["core", "protocol"],
  client: ["protocol"],
  sender: ["core", "protocol"],
  postgres: ["core", "sender", "protocol"],
  certify: ["core", "protocol"],
  server: ["core", "sender", "certify", "protocol"],
  dashboard: ["sender", "protocol"],
  cli: ["core", "sender", "postgres", "server", "certify", "client", "protocol"],
};

/**
 * The layers of each package, from the ground up: folders of its `src`, and files of it that folders may import.
 * A layer imports only itself and the layers listed before it. A file that is not listed is on top: it may import
 * every layer, and no layer may import it. A folder that contains folders has its own list, `package/folder`.
 *
 * So an import runs up when it leads from a layer to one that is listed after it, or to a file on top. Imports of types
 * count like all others.
 */
export const LAYERS = {
  client: ["version.ts", "outcome.ts", "receipt.ts", "queue", "wire"],
  core: ["process.ts", "errors.ts", "messages", "verification", "request", "dedupe", "receiver", "schemas"],
  postgres: ["database", "dedupe", "schema", "tables", "workers", "delivery", "store"],
  certify: ["wire", "probe", "audits", "report"],
  server: [
    "package-files.ts",
    "replace-file.ts",
    "allowed-methods.ts",
    "over-tls.ts",
    "broken-request.ts",
    "open-api",
    "errors",
    "settings",
    "shapes",
    "verify",
    "jobs",
    "ingest",
    "ledger",
    "live",
    "recording",
    "api",
    "page",
    "app",
  ],
  "server/api": ["operation.ts", "schemas"],
  dashboard: ["shapes", "words", "signals", "route", "data", "parts", "screens"],
  "dashboard/screens": ["keys.tsx", "delivery", "deliveries", "send", "faults", "settings"],
  cli: [
    "errors",
    "codes",
    "completion",
    "tls",
    "terminal",
    "input",
    "config",
    "send",
    "replay",
    "listen",
    "import",
    "watch",
    "commands",
  ],
  sender: [
    "delivery",
    "explain",
    "calls",
    "profiles",
    "transport",
    "otel",
    "faults",
    "target",
    "settings",
    "store",
    "sqlite",
    "engine",
    "expect",
    "create-sender.ts",
  ],
};
