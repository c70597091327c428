import { cp } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { certify, formatResult } from "@countersign/certify";
import { sampleMessages, signedRequest } from "@countersign/core/testing";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { post } from "../support/post.ts";
import { createProject } from "./support/project.ts";
import { cleanEnvironment, startServer, type Running } from "./support/run.ts";
import { freePort } from "../support/free-port.ts";

const SECRET = "the secret of the examples";
const examples = fileURLToPath(new URL("../../examples", import.meta.url));

/**
 * `wrangler dev` passes requests on through a proxy of its own: it may read a body to its end, or answer 503 by itself when the
 * worker does not. The same worker passes these audits without the proxy: workers.host.ts.
 */
const OF_THE_PROXY: Readonly<Record<string, readonly string[]>> = {
  workers: ["rejects-declared-oversize", "rejects-chunked-oversize", "answers-413-to-oversize"],
};

async function expectCertified(name: string, port: number, running: Running): Promise<void> {
  const url = `http://localhost:${port}/webhooks`;
  const { results } = await certify({ url, secret: SECRET });
  const others = results
    .filter(({ id, outcome }) => outcome !== "passed" && OF_THE_PROXY[name]?.includes(id) !== true)
    .map((result) => formatResult(result));
  expect({ others, printed: others.length === 0 ? "" : running.printed() }).toEqual({
    others: [],
    printed: "",
  });
}

// The others start on every machine: tests/examples.test.ts.
describe.each(["node-http", "lambda", "deno", "bun", "workers"])("examples/%s", (name) => {
  it("starts by npm start, and passes every audit", async () => {
    const port = await freePort();
    const environment = cleanEnvironment(inject("work"), {
      PORT: String(port),
      WEBHOOK_SECRET: SECRET,
      WRANGLER_SEND_METRICS: "false",
    });
    const running = await startServer("npm start", port, { folder: join(examples, name), environment });
    onTestFinished(() => running.stop());
    await expectCertified(name, port, running);
  });
});

describe("examples/next", () => {
  it("builds without the secret, answers 500 without it, and passes every audit with it", async () => {
    const project = await createProject("npm");
    await cp(join(examples, "next"), project.folder, { recursive: true });
    await project.run("npm install");
    await project.run("npm run build");
    const port = await freePort();
    const without = await project.start("npm start", port, { PORT: String(port) });
    const request = signedRequest(sampleMessages.track, SECRET);
    const { status } = await post(`http://localhost:${port}/webhooks`, request);
    await without.stop();
    expect({ status, printed: without.printed() }).toEqual({
      status: 500,
      printed: expect.stringContaining("WEBHOOK_SECRET is not set") as string,
    });
    const running = await project.start("npm start", port, { PORT: String(port), WEBHOOK_SECRET: SECRET });
    onTestFinished(() => running.stop());
    await expectCertified("next", port, running);
  });
});
