import { certifyHost } from "./support/certify-host.ts";
import { programFolder } from "./support/program.ts";

const PAGE = "docs/guides/deno-and-bun.md";

certifyHost("Deno", {
  page: PAGE,
  start: async (project, port) =>
    project.start("deno run --allow-net --allow-env src/deno.ts", port, {
      PATH: `${await programFolder("deno@2.9.6", "deno")}:${process.env["PATH"]}`,
    }),
});

certifyHost("Bun", {
  page: PAGE,
  start: async (project, port) =>
    project.start("bun src/bun.ts", port, {
      PATH: `${await programFolder("bun@1.4.5", "bun")}:${process.env["PATH"]}`,
    }),
});
