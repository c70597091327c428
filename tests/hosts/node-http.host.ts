import { signedRequest, sampleMessages } from "@countersign/core/testing";
import { expect, it, onTestFinished } from "vitest";
import { freePort } from "../support/free-port.ts";
import { certifyHost } from "./support/certify-host.ts";
import { readPage } from "./support/page.ts";
import { createProject, follow, NODE_TYPES } from "./support/project.ts";

const PAGE = "docs/guides/node-http.md";
const SECRET = 'secret: "the shared secret",';
const AWAY = 'dedupe: { claim() { throw new Error("The store is away."); }, commit() {}, release() {} },';

certifyHost("node:http", { page: PAGE, start: "node src/server.js" });

it("node:http answers 500 and goes on while a dedupe store fails, as the page shows it", async () => {
  const port = await freePort();
  const project = await createProject("npm", NODE_TYPES);
  await follow(project, readPage(PAGE), (code) =>
    code.replace("3000", String(port)).replace(SECRET, `${SECRET}\n  ${AWAY}`),
  );
  await project.compile();
  const running = await project.start("node src/server.js", port);
  onTestFinished(() => running.stop());
  const { headers, text } = signedRequest(sampleMessages.track, "the shared secret");
  for (let request = 1; request <= 2; request += 1) {
    const { status } = await fetch(`http://localhost:${port}/webhooks`, {
      method: "POST",
      headers,
      body: text,
    });
    expect(status).toBe(500);
  }
  expect(running.printed()).toContain("The store is away.");
});
