// Requests per second of each adapter, against the receiver the service documents and against the framework's own JSON
// parser alone: the same framework, server and client, in turns, in one run of about a minute. Medians of the rounds.
//   node tests/bench/adapters.mjs
import { fork } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { sampleMessages, signedRequest } from "@countersign/core/testing";
import autocannon from "autocannon";

const SECRET = "a shared secret of usual length";
const ROUNDS = 5;
const ROUTES = ["verified", "documented", "bare"];
const properties = { ...sampleMessages.track.properties, note: "x".repeat(1_500) };
const { method, headers, body } = signedRequest({ ...sampleMessages.track, properties }, SECRET);

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  return port;
}

async function requestsPerSecond(url) {
  const result = await autocannon({
    url,
    method,
    headers,
    body: Buffer.from(body),
    connections: 20,
    duration: 1,
  });
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${url} answered ${result.non2xx} times not 2xx.`);
  return result.requests.total / result.duration;
}

const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];

const ports = [await freePort(), await freePort(), await freePort(), await freePort()];
const servers = fork(fileURLToPath(new URL("servers.mjs", import.meta.url)), [SECRET, ...ports.map(String)]);
try {
  const [frameworks] = await once(servers, "message");
  console.log(`a track message of ${body.length} bytes, ${ROUNDS} rounds of 1 s`);
  for (const [index, framework] of frameworks.entries()) {
    const rates = Object.fromEntries(ROUTES.map((route) => [route, []]));
    for (let round = -1; round < ROUNDS; round += 1) {
      for (const route of ROUTES) {
        const rate = await requestsPerSecond(`http://127.0.0.1:${ports[index]}/${route}`);
        if (round >= 0) rates[route].push(rate);
      }
    }
    const bare = median(rates.bare);
    console.log(framework);
    for (const [route, all] of Object.entries(rates)) {
      const rate = median(all);
      console.log(`  ${rate.toFixed(0).padStart(7)} /s  ${(rate / bare).toFixed(2).padStart(5)} x  ${route}`);
    }
  }
} finally {
  servers.kill();
}
