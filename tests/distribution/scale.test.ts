import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it, vi } from "vitest";
import { bin } from "../support/command.ts";
import { NO_POSTGRES, startPostgres } from "../../packages/postgres/test/support/start-postgres.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const compose = readFileSync(`${root}examples/scale/compose.yaml`, "utf8");
const database = await startPostgres({ fsync: "off" });

/** The command of a service, as it stands in the file. */
function commandOf(service: string): readonly string[] {
  const [, block = ""] = compose.split(new RegExp(`^ {2}${service}:`, "mu"));
  const [own = ""] = block.split(/^ {2}\S/mu);
  const list = /command:\s*\[([^\]]*)\]/u.exec(own)?.[1];
  if (list === undefined) throw new Error(`compose.yaml has no command of ${service}.`);
  return [...list.matchAll(/"([^"]*)"/gu)].map(([, argument = ""]) => argument);
}

interface Started {
  readonly child: ChildProcess;
  readonly output: () => string;
  /** The port that it says it listens on. */
  port(): Promise<string>;
}

function start(args: readonly string[]): Started {
  const env = { PATH: process.env["PATH"], HOME: process.env["HOME"], COUNTERSIGN_STORE: database?.url };
  const child = spawn(process.execPath, [bin, ...args], { env });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (text: Buffer) => (output += text.toString()));
  return {
    child,
    output: () => output,
    async port() {
      const pattern = /http:\/\/[^:\s]+:(\d+)/u;
      await vi.waitFor(() => expect(output).toMatch(pattern), { timeout: 60_000, interval: 20 });
      return pattern.exec(output)?.[1] ?? "";
    },
  };
}

describe.skipIf(database === undefined)(
  `examples/scale (${database === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  () => {
    const running: Started[] = [];
    const run = (args: readonly string[]): Started => {
      const started = start(args);
      running.push(started);
      return started;
    };

    afterAll(async () => {
      for (const { child } of running) {
        if (child.exitCode !== null || child.signalCode !== null) continue;
        const exited = once(child, "exit");
        child.kill("SIGKILL");
        await exited;
      }
      await database?.stop();
    });

    it("delivers what two servers accept with three workers, one of which is killed", async () => {
      const receiver = run(commandOf("receiver").map((one) => (one === "3000" ? "0" : one)));
      const to = `http://127.0.0.1:${await receiver.port()}/webhooks`;
      const workers = [1, 2, 3].map(() =>
        run(commandOf("worker").map((one) => (one === "4010" ? "0" : one))),
      );
      const given = commandOf("server-1").map((one) => (one.startsWith("http://receiver") ? to : one));
      const servers = [1, 2].map(() => run([...given, "--port", "0"]));
      const ports = await Promise.all(servers.map((server) => server.port()));
      const send = async (index: number): Promise<number> => {
        const body = JSON.stringify({ writeKey: "any", userId: `user-${index}`, event: `Event ${index}` });
        const headers = { "content-type": "application/json" };
        const url = `http://127.0.0.1:${ports[index % 2]}/v1/track`;
        return (await fetch(url, { method: "POST", body, headers })).status;
      };
      for (let index = 0; index < 20; index += 1) {
        if (index === 10) workers[0]?.child.kill("SIGKILL");
        expect(await send(index)).toBe(200);
      }
      const arrived = (): number =>
        Array.from({ length: 20 }, (_, index) => receiver.output().includes(`Event ${index}`)).filter(Boolean)
          .length;
      await vi.waitFor(() => expect(arrived()).toBe(20), { timeout: 100_000, interval: 50 });
    }, 240_000);
  },
);

it("the database of examples/scale is of the version that every test was run with", () => {
  const page = readFileSync(`${root}docs/scaling.md`, "utf8");
  const [, version] = /^\| PostgreSQL (\d+) +\| every test was run +\|$/mu.exec(page) ?? [];
  expect(compose).toContain(`image: postgres:${version}\n`);
});
