import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { misreadsKeys } from "@countersign/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { publicPackages } from "../../scripts/public-packages.mjs";
import { installPublishable } from "../../scripts/publishable.mjs";

// What is published is bundled, and all other tests run against what tsc wrote. These hold the one to the other.
const folder = mkdtempSync(join(tmpdir(), "countersign-published-"));
beforeAll(() => installPublishable(folder));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const run = promisify(execFile);

/** Runs a script as an app would in whose folder the packages are installed. */
async function inApp(file: string, script: string, flags: readonly string[] = []): Promise<unknown> {
  writeFileSync(join(folder, file), script);
  const { stdout } = await run(process.execPath, [...flags, file], { cwd: folder });
  return JSON.parse(stdout);
}

const entries = publicPackages().flatMap(({ folder: repository, manifest }) =>
  Object.entries(manifest.exports).flatMap(([path, target]) =>
    typeof target === "object"
      ? [{ name: manifest.name + path.slice(1), built: join(repository, target.default) }]
      : [],
  ),
);

/** Tells which modules Node is asked for while the rest of a script runs. */
const LOADED = `
  import { register } from "node:module";
  import { MessageChannel, receiveMessageOnPort } from "node:worker_threads";
  const { port1, port2 } = new MessageChannel();
  register("data:text/javascript," + encodeURIComponent(
    "let port; export const initialize = (given) => { port = given; };" +
    "export const load = (url, context, next) => { port.postMessage(url); return next(url, context); };"),
    { data: port2, transferList: [port2] });
  const loaded = () => {
    const urls = [];
    for (let one; (one = receiveMessageOnPort(port1)) !== undefined; ) urls.push(one.message);
    return urls;
  };`;

/** What importing an entry point loads, in its own package and of others. */
async function loadedBy(name: string, flags: readonly string[] = []): Promise<readonly string[]> {
  const script = `${LOADED}
    await import(${JSON.stringify(name)});
    console.log(JSON.stringify(loaded()));`;
  return (await inApp("loaded.mjs", script, flags)) as string[];
}

describe("what is published", () => {
  it("exports from each entry point what the tests import from it, and the same when it is required", async () => {
    const names = JSON.stringify(entries.map(({ name }) => name));
    const built = JSON.stringify(entries.map(({ built: path }) => pathToFileURL(path).href));
    const keysOf = `(module) => Object.keys(module).filter((key) => key !== "__esModule" && key !== "module.exports").sort()`;
    const imported = (list: string): string =>
      `const all = [];
       for (const name of ${list}) all.push((${keysOf})(await import(name)));
       console.log(JSON.stringify(all));`;
    const expected = await inApp("built.mjs", imported(built));
    expect(await inApp("imported.mjs", imported(names))).toEqual(expected);
    const required = `console.log(JSON.stringify(${names}.map((name) => (${keysOf})(require(name)))));`;
    expect(await inApp("required.cjs", required)).toEqual(expected);
  });

  it("shows no path of the machine that built it: stack traces lead to sources of the packages", () => {
    const maps = publicPackages().flatMap(({ manifest }) => {
      const dist = join(folder, "node_modules", manifest.name, "dist");
      const names = readdirSync(dist).filter((name) => name.endsWith(".js.map"));
      return names.map((name) => JSON.parse(readFileSync(join(dist, name), "utf8")) as { sources: string[] });
    });
    expect(maps.length).toBeGreaterThan(publicPackages().length);
    const sources = maps.flatMap((map) => map.sources);
    expect(sources.filter((source) => !/^\.\.\/(?:\.\.\/\w+\/)?src\/[\w/.-]+\.tsx?$/.test(source))).toEqual(
      [],
    );
  });

  it("has one WebhookError, whichever entry point throws it", async () => {
    const script = `
      import { createReceiver, sign, WebhookError } from "@countersign/core";
      import { readRawBody } from "@countersign/core/node";
      import { Readable } from "node:stream";
      const thrown = await readRawBody(Readable.from([Buffer.alloc(9)]), { maxBytes: 8 }).catch((error) => error);
      const receiver = createReceiver({ secret: "dev", onRejected() {} });
      const request = {
        method: "POST",
        headers: { "content-type": "application/json", "x-signature": sign("{}", "dev ") },
        body: { from: "raw", value: "{}" },
      };
      const { error } = await receiver.receive(request);
      console.log(JSON.stringify([thrown, error].map((one) => [one instanceof WebhookError, one.code, one.hint])));`;
    expect(await inApp("identity.mjs", script)).toEqual([
      [true, "ERR_BODY_TOO_LARGE", expect.any(String)],
      // The cause is found by code that is loaded on demand.
      [true, "ERR_SIGNATURE_MISMATCH", expect.stringContaining("white space around it")],
    ]);
  });

  it("leaves the choice of the platform to the runtime, and loads nothing of Node elsewhere", async () => {
    const nodeModules = (urls: readonly string[]): string[] => urls.filter((url) => url.startsWith("node:"));
    for (const name of ["@countersign/core", "@countersign/core/testing", "@countersign/sender/explain"]) {
      expect(nodeModules(await loadedBy(name, ["--conditions=workerd"]))).toEqual([]);
    }
    expect(nodeModules(await loadedBy("@countersign/core"))).toContain("node:crypto");
  });

  it("is few files, and the code for failures is loaded on demand", async () => {
    const loaded = (await loadedBy("@countersign/express")).filter((url) => url.startsWith("file:"));
    const forKeys = loaded.filter((url) => url.includes("read-json"));
    expect(forKeys.length, "what reads keys where JSON.parse misreads them").toBe(misreadsKeys() ? 1 : 0);
    expect(loaded.length - forKeys.length).toBeLessThanOrEqual(5);
    expect(loaded.join("\n")).not.toMatch(/explain|parsed-body/);
    const client = (await loadedBy("@countersign/client")).filter((url) => url.startsWith("file:"));
    expect(client.length, "the client, and one file of protocol").toBe(2);
  });

  it("leads from a stack to the sources", () => {
    const map = JSON.parse(
      readFileSync(join(folder, "node_modules/@countersign/core/dist/index.js.map"), "utf8"),
    ) as {
      readonly sources: readonly string[];
      readonly sourcesContent: readonly string[];
    };
    expect(
      map.sources.some(
        (source) => source.endsWith("src/receiver/receiver.ts") || source.endsWith("src/receiver/router.ts"),
      ),
    ).toBe(true);
    expect(map.sourcesContent.join("\n")).toContain("createRouter");
  });

  it("keeps the documentation in the declarations", () => {
    const types = readFileSync(
      join(folder, "node_modules/@countersign/core/dist/receiver/receiver.d.ts"),
      "utf8",
    );
    expect(types).toContain("Creates a receiver");
  });

  it("has the command, which knows its version", async () => {
    const installed = join(folder, "node_modules/countersign");
    const { stdout } = await run(process.execPath, [join(installed, "dist/bin.js"), "--version"]);
    const { version } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8")) as {
      readonly version: string;
    };
    expect(stdout.trim()).toBe(version);
  });

  it.each([["--version"], ["certify", "http://127.0.0.1:1/", "--secret", "dev"]])(
    "has the command, which does not load the engine to do what needs none: %s",
    async (...args) => {
      const command = join(folder, "node_modules/countersign/dist/bin.js");
      const preload = new URL("../../packages/cli/test/support/print-loaded.mjs", import.meta.url).href;
      // An audit of a receiver that is not there ends with another status than 0.
      const { stderr } = await run(process.execPath, ["--import", preload, command, ...args]).catch(
        (error: unknown) => error as { readonly stderr: string },
      );
      expect(stderr).toContain("countersign/dist/bin.js");
      expect(stderr).not.toMatch(/node_modules\/(?:fastify|libsql|undici|pg)\/|\/sender\/dist\/index\.js/);
    },
  );

  it("has a server, which finds its page", async () => {
    const script = `
      import { createServer } from "@countersign/server";
      const server = await createServer({ to: "http://127.0.0.1:9/", secret: "dev", port: 0 });
      const page = await fetch(server.url);
      const answer = [page.status, await page.text()];
      await server.close();
      console.log(JSON.stringify(answer));`;
    const built = existsSync(new URL("../../packages/server/dist/page-files/index.html", import.meta.url));
    const title = built ? /<script/ : /The page is not built/;
    expect(await inApp("server.mjs", script)).toEqual([200, expect.stringMatching(title)]);
  });
});
