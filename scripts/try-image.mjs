// Runs the steps of the Dockerfile without Docker, below a temporary folder: builds, starts, asks the health check, sends a call,
// stops. The base image is this machine. As root, the last stage runs as another user, as in the image.
//   node scripts/try-image.mjs
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
} from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { execForm, readStages, textsOf } from "./dockerfile.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const image = mkdtempSync(join(tmpdir(), "countersign-image-"));
// The final user must be able to reach what it may read.
chmodSync(image, 0o755);
const NOBODY = 65_534;
const user = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
const [build, final] = readStages(join(root, "Dockerfile"));

/** Paths of the image lie below the temporary folder. */
const inImage = (text) => text.replaceAll(/(^|[\s"'=])(\/(?:src|app|data))(?=[\s"'/]|$)/g, `$1${image}$2`);

function copySources(to) {
  const listed = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "-z"], {
    cwd: root,
  });
  for (const file of listed.toString().split("\0")) {
    if (file === "" || file.startsWith(".github") || !existsSync(join(root, file))) continue;
    mkdirSync(dirname(join(to, file)), { recursive: true });
    cpSync(join(root, file), join(to, file));
  }
}

function runStep(command, cwd) {
  console.log(`RUN ${command}`);
  const started = performance.now();
  execFileSync("sh", ["-e", "-c", inImage(command)], {
    cwd,
    stdio: ["ignore", "ignore", "inherit"],
    env: { ...process.env, CI: "true" },
  });
  console.log(`    ${((performance.now() - started) / 1_000).toFixed(1)} s`);
}

function buildImage() {
  const source = inImage(textsOf(build, "WORKDIR")[0]);
  copySources(source);
  for (const command of textsOf(build, "RUN")) runStep(command, source);
  // The folder of COPY --from is the same in both stages here; the sources are not in the image.
  rmSync(source, { recursive: true });
  for (const command of textsOf(final, "RUN")) runStep(command.replace("chown node:node", "true"), image);
  if (user.uid !== undefined) chownSync(join(image, "data"), user.uid, user.gid);
}

/** Starts what the image starts, with more arguments and variables. */
function start(args, env) {
  const set = textsOf(final, "ENV")
    .join(" ")
    .split(" ")
    .map((pair) => inImage(pair).split("="));
  const [, ...entry] = execForm(textsOf(final, "ENTRYPOINT")[0]).map(inImage);
  const child = spawn(process.execPath, [...entry, ...execForm(textsOf(final, "CMD")[0]), ...args], {
    cwd: inImage(textsOf(final, "WORKDIR")[0]),
    env: { PATH: process.env.PATH, ...Object.fromEntries(set), ...env },
    stdio: ["ignore", "pipe", "pipe"],
    ...user,
  });
  let output = "";
  child.stdout.on("data", (data) => (output += data));
  child.stderr.on("data", (data) => (output += data));
  return { child, ended: once(child, "exit"), output: () => output };
}

/** The health check as it stands, for a server on another port than the image's. */
function isHealthy(port) {
  const [program, ...args] = execForm(textsOf(final, "HEALTHCHECK")[0]);
  try {
    execFileSync(
      program,
      args.map((text) => text.replaceAll("/4010", `/${port}`)),
      { stdio: "ignore", ...user },
    );
    return true;
  } catch {
    return false;
  }
}

async function until(what, condition, output) {
  for (let tries = 0; tries < 300; tries += 1) {
    if (await condition()) return console.log(`ok  ${what}`);
    await delay(100);
  }
  throw new Error(`${what}: not within 30 s. The command printed:\n${output()}`);
}

function assert(what, isTrue) {
  if (!isTrue) throw new Error(`${what}: no`);
  console.log(`ok  ${what}`);
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

async function tryImage() {
  const received = [];
  const receiver = createServer((request, response) => {
    received.push(request.headers["x-signature"]);
    response.writeHead(204).end();
  }).listen(0, "127.0.0.1");
  await once(receiver, "listening");
  const to = `http://127.0.0.1:${receiver.address().port}/webhooks`;
  const port = await freePort();
  assert("nothing is healthy before it is started", !isHealthy(port));
  const { child, ended, output } = start(["--to", to, "--port", String(port)], {
    COUNTERSIGN_TOKEN: "a token of thirty-two characters",
    COUNTERSIGN_SECRET: "dev",
  });
  try {
    await until("the health check succeeds", () => isHealthy(port), output);
    const body = JSON.stringify({ writeKey: "any", userId: "u1", event: "Hello" });
    const answer = await fetch(`http://127.0.0.1:${port}/v1/track`, { method: "POST", body });
    assert("a call is accepted", answer.status === 200);
    await until("its message arrives, signed", () => received[0] !== undefined, output);
    const page = await fetch(`http://127.0.0.1:${port}/api/deliveries`);
    assert("the control API wants the token", page.status === 401);
    const files = readdirSync(join(image, "data"));
    assert("the data is in the volume", files.includes("deliveries.db"));
    const owner = statSync(join(image, "data", "deliveries.db")).uid;
    assert("it runs without root", owner === (user.uid ?? process.getuid?.()));
    child.kill("SIGTERM");
    const [code] = await ended;
    assert("SIGTERM ends it with 0", code === 0);
  } finally {
    child.kill("SIGKILL");
    receiver.close();
  }
}

try {
  buildImage();
  await tryImage();
  console.log("1 passed, 0 failed");
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  console.log("0 passed, 1 failed");
  process.exitCode = 1;
} finally {
  rmSync(image, { recursive: true, force: true });
}
