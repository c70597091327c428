// What is attacked, alone in its process: `server`, which forwards to TARGET_TO, or `receiver`. Asked over IPC, it tells its
// memory and the longest that its event loop stood still since it was asked last.
import { createServer as createHttpServer } from "node:http";
import { monitorEventLoopDelay } from "node:perf_hooks";
import process from "node:process";
import { verifyWebhook } from "@countersign/express";
import { createServer } from "@countersign/server";
import express from "express";

const [role] = process.argv.slice(2);
const SECRET = "the honest secret";
let honest = 0;

async function startServer() {
  const endpoints = [{ url: process.env.TARGET_TO }];
  const sources = [{ name: "shop", writeKey: "honest", destinations: [{ endpoints, secret: SECRET }] }];
  const { url } = await createServer({ sources, port: 0, data: "data", keepFor: "1s" });
  return new URL(url).port;
}

function startReceiver() {
  const app = express();
  app.post("/webhooks", verifyWebhook({ secret: SECRET }), (req, res) => {
    if (req.body.event === "Honest") honest += 1;
    res.sendStatus(204);
  });
  const server = createHttpServer(app);
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server.address().port)));
}

const delay = monitorEventLoopDelay({ resolution: 5 });
delay.enable();
let cpu = process.cpuUsage();
process.on("message", () => {
  const cpuMs = process.cpuUsage(cpu).user / 1e3;
  cpu = process.cpuUsage();
  process.send({
    rss: process.memoryUsage.rss(),
    peak: process.resourceUsage().maxRSS * 1_024,
    loopMs: delay.max / 1e6,
    cpuMs,
    honest,
  });
  delay.reset();
});
process.send({ port: Number(role === "server" ? await startServer() : await startReceiver()) });
