// Runs the example receiver and, beside it, the server that forwards to it:
//   npm start [-- options of `countersign serve`]
// RECEIVER_PORT moves the receiver from port 3000. Ctrl-C stops both.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const SECRET = "dev";
const port = process.env.RECEIVER_PORT ?? "3000";
const to = `http://localhost:${port}/webhooks`;

const run = (name, file, args, { stdin = "ignore", env = {} } = {}) => {
  const child = spawn(process.execPath, [`${root}${file}`, ...args], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: [stdin, "inherit", "inherit"],
  });
  return { name, child, ended: once(child, "exit") };
};

const receiver = run("receiver", "examples/express/dist/server.js", [], {
  env: { PORT: port, WEBHOOK_SECRET: SECRET },
});
// A terminal sends Ctrl-C to the children as well; a supervisor sends SIGTERM to this process alone.
let server;
process.on("SIGINT", () => {});
process.on("SIGTERM", () => (server ?? receiver).child.kill("SIGTERM"));

// The server says at its start whether the receiver answers.
const isOver = receiver.ended.then(() => true);
while (!(await listens(port)) && !(await Promise.race([isOver, pause(50, false)])));

const args = ["serve", "--to", to, "--secret", SECRET, ...process.argv.slice(2)];
// The server has the keys.
server = run("server", "packages/cli/dist/bin.js", args, { stdin: "inherit" });

// Both belong together: when one has ended, for whatever reason, the other is stopped.
let code = 0;
for (const [{ name, ended }, { child: other }] of [
  [receiver, server],
  [server, receiver],
]) {
  void ended.then(([status, signal]) => {
    if (status !== 0 && signal === null) {
      console.error(`The ${name} exited with ${status}.`);
      code ||= status;
    }
    other.kill("SIGTERM");
    process.exitCode = code;
  });
}

async function listens(onPort) {
  const socket = connect(Number(onPort), "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
