import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";

const PACKAGE = fileURLToPath(new URL("..", import.meta.url));

/** Files that a receiver loads on demand, and where it does so. */
const ON_DEMAND = [
  ["receiver/receiver.js", "./awaited.js"],
  ["verification/signature.js", "./compact-json.js"],
] as const;

/** A receiver with dedupe that gets a forgery and an authentic message; it prints what became of each. */
const PROGRAM = `
import { once } from "node:events";
import { createServer } from "node:http";
import { createReceiver, memoryDedupe, sign, verifySignature } from "./dist/index.js";
import { toWebhookRequest } from "./dist/node.js";
const body = '{"type": "track", "userId": "u1", "event": "E", "messageId": "m1"}';
const receiver = createReceiver({ secret: "secret", dedupe: memoryDedupe() });
const server = createServer((request, response) => {
  const end = (status, text) => response.writeHead(status).end(text);
  receiver.decide(toWebhookRequest(request), () => end(200), ({ code }) => end(500, code));
}).listen(0, "127.0.0.1");
await once(server, "listening");
const headers = { "content-type": "application/json", "x-signature": sign(body, "secret") };
const url = "http://127.0.0.1:" + server.address().port;
const response = await fetch(url, { method: "POST", headers, body });
const forged = verifySignature(body, sign(body, "another"), "secret").code;
console.log(JSON.stringify({ forged, status: response.status, text: await response.text() }));
process.exit();
`;

it("a message ends no process in a bundle that was deployed without its other files, whose import() throws at once", async () => {
  const folder = await mkdtemp(join(tmpdir(), "countersign-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await cp(join(PACKAGE, "dist"), join(folder, "dist"), { recursive: true });
  await cp(join(PACKAGE, "package.json"), join(folder, "package.json"));
  await symlink(join(PACKAGE, "node_modules"), join(folder, "node_modules"), "junction");
  for (const [file, loaded] of ON_DEMAND) {
    const path = join(folder, "dist", file);
    const code = await readFile(path, "utf8");
    // As webpack writes it for CommonJS.
    const required = `process.getBuiltinModule("module").createRequire(import.meta.url)("./793.cjs")`;
    const bundled = code.replace(`import("${loaded}")`, required);
    expect(bundled).not.toBe(code);
    await writeFile(path, bundled);
  }
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", PROGRAM], {
    cwd: folder,
  });
  expect(JSON.parse(stdout)).toEqual({
    forged: "ERR_SIGNATURE_MISMATCH",
    status: 500,
    text: "MODULE_NOT_FOUND",
  });
});
