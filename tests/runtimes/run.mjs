// Core's vectors, the fetch adapter's audits and the client's smoke test on every runtime; see README.md.
import { once } from "node:events";
import { createServer } from "node:http";
import process from "node:process";
import { certify, formatResult } from "@countersign/certify";
import { processRuntimes, workerRuntimes } from "./runtimes.mjs";
import { locate, runScript, startServer } from "./start-process.mjs";
import { startWorker } from "./start-worker.mjs";

const SECRET = "the secret of the runtime tests";
const SMOKE = "../../packages/client/test/runtimes/smoke.mjs";

/** @typedef {{ runtime: string, vectors: string, audits: string, client: string, failures: string[] }} Row */

async function testProcess(runtime, program) {
  if (program instanceof Error) throw program;
  const args = runtime.command.slice(1);
  const vectors = JSON.parse(await runScript(program, args, "vectors-main.mjs"));
  const server = await startServer(program, args, "serve.mjs", { WEBHOOK_SECRET: SECRET });
  const audits = await certifyAndClose(server);
  const client = await smoke(() => runScript(program, args, SMOKE));
  return toRow(runtime, vectors, audits, client);
}

async function testWorker(runtime) {
  const service = createServer((request, response) => {
    // Later than the next request comes.
    request.resume().on("end", () => setTimeout(() => response.end('{"success":true}'), 100));
  });
  await once(service.listen(0, "127.0.0.1"), "listening");
  const ENDPOINT = `http://127.0.0.1:${service.address().port}`;
  const worker = await startWorker(runtime.compatibilityFlags, { WEBHOOK_SECRET: SECRET, ENDPOINT });
  const vectors = await (await fetch(new URL("/vectors", worker.url))).json();
  const client = await smoke(async () => {
    // A flush that waits for another request never ends.
    const signal = AbortSignal.timeout(20_000);
    const recorded = Array.from({ length: 10 }, () => fetch(new URL("/recorded", worker.url), { signal }));
    for (const response of await Promise.all(recorded)) {
      const counts = await response.text();
      if (!counts.includes('"delivered":1')) return `requests at the same time: ${counts}`;
    }
    return (await fetch(new URL("/smoke", worker.url))).text();
  });
  service.close();
  const audits = await certifyAndClose({ ...worker, url: new URL("/webhooks", worker.url) });
  return toRow(runtime, vectors, audits, client);
}

async function certifyAndClose(server) {
  try {
    return await certify({ url: server.url, secret: SECRET });
  } finally {
    await server.close();
  }
}

/** @returns {Promise<string>} why the client's smoke test failed, or nothing */
async function smoke(run) {
  try {
    const printed = (await run()).trim();
    return printed === "ok" ? "" : `client: ${printed.slice(0, 2_000)}`;
  } catch (error) {
    return `client: ${error.message}`;
  }
}

/** @returns {Row} */
function toRow({ name, impossible }, vectors, { tally, results }, clientFailure) {
  const failed = results.filter(({ outcome }) => outcome !== "passed");
  const unexpected = failed.filter(({ id }) => !(id in impossible));
  const nowPossible = Object.keys(impossible).filter((id) => !failed.some((result) => result.id === id));
  return {
    runtime: vectors.runtime,
    vectors: `${vectors.run - vectors.failures.length} of ${vectors.run}`,
    audits: ["MUST", "SHOULD"].map((level) => describeTally(level, tally[level])).join(", "),
    client: clientFailure === "" ? "passed" : "failed",
    failures: [
      ...(vectors.runtime.startsWith(name) ? [] : [`this should be ${name}`]),
      ...vectors.failures.map((vector) => `vector: ${vector}`),
      ...unexpected.map(formatResult),
      ...nowPossible.map((id) => `${id} passes: remove it from what is impossible in runtimes.mjs`),
      ...(clientFailure === "" ? [] : [clientFailure]),
    ],
  };
}

function describeTally(level, { passed, failed, skipped }) {
  return `${level} ${passed} of ${passed + failed + skipped}`;
}

function print(rows) {
  const columns = ["runtime", "vectors", "audits", "client"];
  const table = [Object.fromEntries(columns.map((column) => [column, column])), ...rows];
  const widths = columns.map((column) => Math.max(...table.map((row) => row[column].length)));
  for (const row of table) {
    const cells = columns.map((column, index) => row[column].padEnd(widths[index]));
    process.stdout.write(`${cells.join("  ").trimEnd()}\n`);
  }
  for (const { runtime, failures } of rows) {
    for (const failure of failures) process.stdout.write(`\nFAILED  ${runtime}: ${failure}\n`);
  }
}

/** What is there and what is missing is known before anything is tested: npx holds up this process, and so an audit. */
async function tryLocate(runtime) {
  try {
    return await locate(runtime);
  } catch (error) {
    return error;
  }
}

const programs = [];
for (const runtime of processRuntimes) programs.push(await tryLocate(runtime));
const tests = [
  ...processRuntimes.map((runtime, index) => [runtime, programs[index], testProcess]),
  ...workerRuntimes.map((runtime) => [runtime, undefined, testWorker]),
];
/** @type {Row[]} */
const rows = [];
let next = 0;

/** Tests one runtime after another, until none is left. */
async function work() {
  while (next < tests.length) {
    const index = next;
    next += 1;
    const [runtime, program, test] = tests[index];
    try {
      rows[index] = await test(runtime, program);
    } catch (error) {
      rows[index] = {
        runtime: runtime.name,
        vectors: "-",
        audits: "-",
        client: "-",
        failures: [error.message],
      };
    }
  }
}

// Two at a time: an audit waits for most of its time.
await Promise.all([work(), work()]);
print(rows);
// The line that .ci/run adds up: a runtime passes as a whole.
const failed = rows.filter(({ failures }) => failures.length > 0).length;
process.stdout.write(`\n${rows.length - failed} passed, ${failed} failed\n`);
process.exitCode = failed > 0 ? 1 : 0;
