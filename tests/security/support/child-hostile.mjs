// Sends every hostile shape at once, each over and over: for HOSTILE_SECONDS, or HOSTILE_ROUNDS times. Prints how often.
import { connect } from "node:net";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { shapes } from "./hostile-shapes.mjs";

const { HOSTILE_SERVER, HOSTILE_RECEIVER, HOSTILE_SECONDS = "0", HOSTILE_ROUNDS = "1" } = process.env;
const ports = { server: Number(HOSTILE_SERVER), receiver: Number(HOSTILE_RECEIVER) };
const until = Date.now() + Number(HOSTILE_SECONDS) * 1_000;
const rounds = Number(HOSTILE_ROUNDS);

/** How soon a shape strikes again. */
const PAUSE_MS = 100;

/** How long a client that hangs hangs, and how long one waits for an answer. */
const PATIENCE_MS = 1_500;

async function strike({ to, pieces, ending }) {
  const socket = connect(ports[to], "127.0.0.1");
  const closed = new Promise((resolve) => socket.once("close", resolve));
  let answered = false;
  socket.on("error", () => {}).on("data", () => (answered = true));
  for (const piece of pieces) {
    if (answered || socket.destroyed) break;
    if (!socket.write(piece))
      await Promise.race([
        closed,
        new Promise((resolve) => socket.once("drain", resolve)),
        delay(PATIENCE_MS),
      ]);
  }
  if (ending === "reset") socket.resetAndDestroy();
  const quiet =
    ending === "wait"
      ? new Promise((resolve) => socket.once("data", () => setTimeout(resolve, 20)))
      : undefined;
  await Promise.race([closed, delay(PATIENCE_MS), ...(quiet ? [quiet] : [])]);
  socket.destroy();
}

let strikes = 0;
await Promise.all(
  shapes.map(async (shape) => {
    for (let round = 0; round < rounds || Date.now() < until; round += 1) {
      await strike(shape);
      strikes += 1;
      await delay(PAUSE_MS);
    }
  }),
);
process.stdout.write(`${strikes} strikes of ${shapes.length} shapes\n`);
