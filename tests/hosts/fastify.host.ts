import { expect, it } from "vitest";
import { certifyHost } from "./support/certify-host.ts";
import { createProject } from "./support/project.ts";

certifyHost("Fastify", {
  page: "docs/start/index.md",
  framework: "fastify",
  start: "node src/server.js",
  test: "node test/receiver.js",
});

// The lowest that the package promises.
for (const version of ["4.10.0", "5.0.0"]) {
  certifyHost(`Fastify ${version}`, {
    page: "docs/start/index.md",
    framework: "fastify",
    managers: ["npm"],
    instead: [`npm install fastify@${version}`],
    // The types of early versions have no default export for ES modules.
    change: (code) => code.replace("import fastify from", "import { fastify } from"),
    start: "node src/server.js",
    test: "node test/receiver.js",
  });
}

/** An app whose schema changes the body that it checks: it removes `messageId` and makes text of a number. */
const SCHEMA = `
import { verifyWebhook } from "@countersign/fastify";
import { createTestSender } from "@countersign/sender/testing";
import fastify from "fastify";

const app = fastify();
await app.register(verifyWebhook, { secret: "dev" });
const properties = { event: { type: "string" }, properties: { type: "object", properties: { total: { type: "string" } } } };
const schema = { body: { type: "object", properties, additionalProperties: false } };
app.post("/", { schema }, async ({ body, webhook }) => {
  console.log(JSON.stringify([body, webhook.message.properties, webhook.message.userId]));
});
const sender = await createTestSender({ target: app, secret: "dev" });
await sender.expect(await sender.track({ userId: "u1", event: "Read", properties: { total: 1 } })).delivered();
await sender.close();
await app.close();
`;

it.each(["4.10.0", "latest"])(
  "keeps the verified message as it was signed where a schema changes request.body, on Fastify %s",
  async (version) => {
    const project = await createProject("npm");
    await project.run(
      `npm install @countersign/fastify @countersign/core @countersign/sender fastify@${version}`,
    );
    await project.write("schema.js", SCHEMA);
    const printed = await project.run("node schema.js");
    expect(JSON.parse(printed.trim())).toEqual([
      { event: "Read", properties: { total: "1" } },
      { total: 1 },
      "u1",
    ]);
  },
);
