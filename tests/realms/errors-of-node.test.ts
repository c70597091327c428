import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { statSync } from "node:fs";
import { once } from "node:events";
import { createServer as createTcpServer, type AddressInfo, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { certify } from "@countersign/certify";
import { Analytics } from "@countersign/client";
import { createSender, sqliteStore, type Sender } from "@countersign/sender";
import { virtualClock } from "@countersign/sender/testing";
import { createServer } from "@countersign/server";
import { importFile, replay } from "countersign";
import { expect, it, onTestFinished } from "vitest";
import { freePort } from "../support/free-port.ts";

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "countersign-realms-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

async function listening(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** The first attempt at an endpoint. */
async function attemptAt(url: string): Promise<unknown> {
  const clock = virtualClock();
  const sender = await createSender({ url, clock });
  onTestFinished(() => sender.close());
  await sender.track({ userId: "u1", event: "Order Completed" });
  await clock.advance("5h");
  const [delivery] = await sender.deliveries();
  return delivery?.attempts[0];
}

it("runs where Node's errors are not instances of Error", () => {
  let thrown: unknown;
  try {
    statSync("/there-is-no-such-file");
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toMatchObject({ code: "ENOENT" });
  expect(thrown instanceof Error).toBe(false);
});

it("starts a server with a data folder that is new", async () => {
  const data = join(await folder(), "data");
  const server = await createServer({ to: "http://127.0.0.1:9/", port: 0, data });
  onTestFinished(() => server.close());
  expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
});

it("says that a server's port is taken", async () => {
  const port = await listening(createTcpServer());
  await expect(createServer({ to: "http://127.0.0.1:9/", port })).rejects.toMatchObject({
    code: "ERR_PORT_TAKEN",
  });
});

it("tells a body that is too large once inflated from damaged gzip", async () => {
  const server = await createServer({ to: "http://127.0.0.1:9/", port: 0 });
  onTestFinished(() => server.close());
  const response = await fetch(`${server.url}/v1/batch`, {
    method: "POST",
    headers: { "content-type": "application/json", "content-encoding": "gzip" },
    body: gzipSync(Buffer.alloc(20_000_000, " ")),
  });
  expect(await response.json()).toMatchObject({ code: "payload_too_large" });
});

it("gives an attempt that is refused the system's code and words", async () => {
  const port = await freePort();
  expect(await attemptAt(`http://127.0.0.1:${port}/`)).toMatchObject({
    outcome: "network",
    code: "ECONNREFUSED",
    message: `connect ECONNREFUSED 127.0.0.1:${port}`,
  });
});

it("gives a host without an address its code", async () => {
  expect(await attemptAt("http://webhooks.invalid/")).toMatchObject({
    outcome: "network",
    code: "ENOTFOUND",
  });
});

it("locks the file that a link to nothing names", async () => {
  const path = await folder();
  await symlink(join(path, "deliveries.db"), join(path, "link.db"));
  const open = (file: string): Promise<Sender> =>
    createSender({ url: "http://127.0.0.1:9/", store: sqliteStore({ path: join(path, file) }) });
  const sender = await open("link.db");
  onTestFinished(() => sender.close());
  await expect(open("deliveries.db")).rejects.toMatchObject({ code: "ERR_STORE_LOCKED" });
});

it("says of a call that was never sent that it is not stored, and why", async () => {
  const port = await freePort();
  const analytics = new Analytics("KEY", { endpoint: `http://127.0.0.1:${port}`, retry: { giveUpAfter: 1 } });
  const receipt = analytics.track({ userId: "u1", event: "Order Completed" });
  await analytics.close();
  const outcome = await receipt;
  expect(outcome).toMatchObject({ status: "dropped", mayBeStored: false });
  expect(outcome).toHaveProperty(
    "detail",
    expect.stringContaining(`: connect ECONNREFUSED 127.0.0.1:${port}.`),
  );
});

it("says why an audit cannot reach the receiver, without the name of a class", async () => {
  const url = `http://127.0.0.1:${await freePort()}/`;
  await expect(certify({ url, secret: "secret" })).rejects.toThrow(
    `Cannot connect to ${url}: connect ECONNREFUSED`,
  );
});

it("says of a recording that it cannot be read, and how to get one", async () => {
  await expect(replay({ file: await folder(), to: "http://127.0.0.1:9/" })).rejects.toThrow(
    /^Cannot read .+EISDIR.+ Give a file that countersign serve --record/,
  );
});

it("says why the calls of an import are tried again", async () => {
  const server = `http://127.0.0.1:${await freePort()}`;
  const file = join(await folder(), "calls.jsonl");
  await writeFile(file, '{"type":"track","userId":"u1","event":"E","timestamp":"2026-01-01T00:00:00Z"}\n');
  const problems: string[] = [];
  await importFile({
    file,
    server,
    writeKey: "any",
    giveUpAfterMs: 1,
    onRetry: (problem) => problems.push(problem),
  });
  expect(problems).toContainEqual(expect.stringMatching(/^The server does not answer: connect ECONNREFUSED/));
});
