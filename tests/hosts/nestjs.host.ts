import { certifyHost } from "./support/certify-host.ts";

/** What `nest new` installs. */
const APP = "npm install @nestjs/common @nestjs/core @nestjs/platform-express reflect-metadata rxjs";
const APP_ON_FASTIFY =
  "npm install @nestjs/common @nestjs/core @nestjs/platform-fastify reflect-metadata rxjs";

/** Express's parser reads a body that is too large to its end. */
const OVERSIZE = ["rejects-declared-oversize", "rejects-chunked-oversize"];
/** JSON that was parsed and written again is not what was signed. */
const AS_WRITTEN = ["accepts-escapes-as-written", "accepts-numbers-as-written"];

/** An app of another version, which npm does not let in where a package asks for another one. */
const of = (version: string, line: string): string => line.replaceAll(/(@nestjs\/[\w-]+)/g, `$1@${version}`);

const PAGE = { page: "docs/start/index.md", framework: "nestjs", start: "node src/main.js" } as const;
const express = {
  ...PAGE,
  present: [APP],
  isOther: ({ code }: { readonly code: string }): boolean => code.includes("FastifyAdapter"),
};
const fastify = { ...PAGE, present: [APP_ON_FASTIFY] };

const withRawBody = (code: string): string => code.replaceAll("{ bodyParser: false }", "{ rawBody: true }");
const withoutRawBody = (code: string): string =>
  code.replaceAll(/, \{ (?:rawBody: true|bodyParser: false) \}/g, "");

certifyHost("Nest on Express", { ...express, test: "node test/receiver.js" });
certifyHost("Nest on Express, rawBody: true", {
  ...express,
  managers: ["pnpm"],
  change: withRawBody,
  test: "node test/receiver.js",
  failing: OVERSIZE,
});
certifyHost("Nest on Express, without rawBody", {
  ...express,
  managers: ["pnpm"],
  change: withoutRawBody,
  test: "node test/receiver.js",
  failing: [...OVERSIZE, ...AS_WRITTEN],
});
certifyHost("Nest on Fastify, rawBody: true", fastify);
certifyHost("Nest on Fastify, without rawBody", {
  ...fastify,
  managers: ["pnpm"],
  change: withoutRawBody,
  failing: [...AS_WRITTEN, "survives-unexpected-shapes"],
});
// The major before, and the lowest of both majors whose own packages fit together.
for (const version of ["11", "11.0.3", "12.0.1"]) {
  certifyHost(`Nest ${version} on Express`, {
    ...express,
    present: [of(version, APP)],
    managers: ["npm"],
    test: "node test/receiver.js",
  });
  certifyHost(`Nest ${version} on Fastify, rawBody: true`, {
    ...fastify,
    present: [of(version, APP_ON_FASTIFY)],
    managers: ["npm"],
  });
}
