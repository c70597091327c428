import { certifyHost } from "./support/certify-host.ts";
import { programFolder } from "./support/program.ts";

certifyHost("Express", {
  page: "docs/start/index.md",
  framework: "express",
  start: "node src/server.js",
  test: "node test/receiver.js",
});

certifyHost("Express, in TypeScript that Node 24 runs", {
  page: "docs/start/index.md",
  framework: "express",
  managers: ["npm"],
  change: (code) => code.replaceAll(/(from "\.[^"]*)\.js"/g, '$1.ts"'),
  start: async (project, port) =>
    project.start("node src/server.ts", port, {
      PATH: `${await programFolder("node@24", "node")}:${process.env["PATH"]}`,
    }),
});

// The lowest that the package promises.
for (const [version, types] of [
  ["4.18.0", "4.17.0"],
  ["5.0.0", "5.0.0"],
] as const) {
  certifyHost(`Express ${version}`, {
    page: "docs/start/index.md",
    framework: "express",
    managers: ["npm"],
    instead: [`npm install express@${version}`, `npm install --save-dev @types/express@${types}`],
    start: "node src/server.js",
    test: "node test/receiver.js",
  });
}
