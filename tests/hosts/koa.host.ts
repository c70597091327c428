import { certifyHost } from "./support/certify-host.ts";

certifyHost("Koa", {
  page: "docs/start/index.md",
  framework: "koa",
  start: "node src/server.js",
  test: "node test/receiver.js",
});

// The lowest that the package promises.
for (const [version, types] of [
  ["2.14.0", "2.13.0"],
  ["3.0.0", "3.0.0"],
] as const) {
  certifyHost(`Koa ${version}`, {
    page: "docs/start/index.md",
    framework: "koa",
    managers: ["npm"],
    instead: [`npm install koa@${version}`, `npm install --save-dev @types/koa@${types}`],
    start: "node src/server.js",
    test: "node test/receiver.js",
  });
}
