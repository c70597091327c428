// A server that is killed when it has stored a call, and before it answers.
import { createServer } from "@countersign/server";

const [data, to] = process.argv.slice(2);
const server = await createServer({ to, data, port: 0 });
const { sender } = server;
const accept = sender.accept.bind(sender);
sender.accept = async (...args) => {
  await accept(...args);
  process.kill(process.pid, "SIGKILL");
  // Nothing of what follows happens.
  await new Promise(() => {});
};
process.stdout.write(server.url);
