import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { Agent, request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { signedRequest } from "@countersign/core/testing";

/** How a load is put on. */
export interface LoadOptions {
  /** How often each shape strikes, or for how long. */
  readonly rounds?: number;
  readonly seconds?: number;
}

/** What a process told of itself. */
export interface Sample {
  /** Bytes of resident memory. */
  readonly rss: number;
  /** The most bytes of resident memory that there ever were. */
  readonly peak: number;
  /** The longest that its event loop stood still since the last sample, in milliseconds. */
  readonly loopMs: number;
  /** Processor time since the last sample, in milliseconds. */
  readonly cpuMs: number;
  /** Honest messages that its handler was given. */
  readonly honest: number;
}

/** What came of the honest traffic, and of those who were attacked. */
export interface LoadReport {
  /** Milliseconds of each honest request, to the server and to the receiver. */
  readonly latencies: readonly number[];
  /** Honest requests that were not answered as they should be. */
  readonly failures: readonly string[];
  /** Honest events that the server took, and honest messages that the receiver's handler got. */
  readonly accepted: number;
  readonly handled: number;
  /** Samples before, while and after, by role. */
  readonly samples: Readonly<Record<"server" | "receiver", readonly Sample[]>>;
  /** What the attacker said at the end. */
  readonly strikes: string;
}

const SECRET = "the honest secret";
const here = fileURLToPath(new URL(".", import.meta.url));

interface Target {
  readonly child: ChildProcess;
  readonly port: number;
  sample(): Promise<Sample>;
}

async function startTarget(
  role: string,
  cwd: string,
  env: Readonly<Record<string, string>>,
): Promise<Target> {
  const child = fork(join(here, "child-target.mjs"), [role], {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const [{ port }] = (await once(child, "message")) as [{ port: number }];
  return {
    child,
    port,
    async sample() {
      child.send("sample");
      const [sample] = (await once(child, "message")) as [Sample];
      return sample;
    },
  };
}

/** Sends every hostile shape at once to a server and to a receiver, beside honest traffic to both. */
export async function putLoadOn({ rounds = 1, seconds = 0 }: LoadOptions): Promise<LoadReport> {
  const cwd = await mkdtemp(join(tmpdir(), "countersign-load-"));
  const receiver = await startTarget("receiver", cwd, {});
  const server = await startTarget("server", cwd, {
    TARGET_TO: `http://127.0.0.1:${receiver.port}/webhooks`,
  });
  const samples = { server: [await server.sample()], receiver: [await receiver.sample()] };
  const attacker = fork(join(here, "child-hostile.mjs"), [], {
    env: {
      ...process.env,
      HOSTILE_SERVER: String(server.port),
      HOSTILE_RECEIVER: String(receiver.port),
      HOSTILE_ROUNDS: String(rounds),
      HOSTILE_SECONDS: String(seconds),
    },
    stdio: ["ignore", "pipe", "inherit", "ipc"],
  });
  let strikes = "";
  attacker.stdout?.on("data", (data: Buffer) => void (strikes += data.toString()));
  const attack = { isOver: false };
  const over = once(attacker, "close").then(() => (attack.isOver = true));
  try {
    const honest = new HonestTraffic(server.port, receiver.port);
    const sampling = sampleUntil(attack, { server, receiver }, samples);
    await honest.runUntil(attack);
    await Promise.all([over, sampling]);
    const sent = honest.accepted + honest.delivered;
    const handled = await settled(receiver, sent);
    samples.server.push(await server.sample());
    return { ...honest.report(), accepted: sent, handled, samples, strikes };
  } finally {
    for (const { child } of [server, receiver]) child.kill("SIGKILL");
    attacker.kill("SIGKILL");
    await rm(cwd, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function sampleUntil(
  attack: { readonly isOver: boolean },
  targets: Readonly<Record<"server" | "receiver", Target>>,
  samples: Record<"server" | "receiver", Sample[]>,
): Promise<void> {
  while (!attack.isOver) {
    await delay(500);
    samples.server.push(await targets.server.sample());
    samples.receiver.push(await targets.receiver.sample());
  }
}

/** Waits until everything that was sent has reached the handler, or nothing more comes. */
async function settled(receiver: Target, sent: number): Promise<number> {
  let { honest } = await receiver.sample();
  for (let attempt = 0; honest < sent && attempt < 100; attempt += 1) {
    await delay(100);
    ({ honest } = await receiver.sample());
  }
  return honest;
}

/** One client of the server and one sender of the receiver, a request after the other. */
class HonestTraffic {
  readonly #agent = new Agent({ keepAlive: true });
  readonly #latencies: number[] = [];
  readonly #failures: string[] = [];
  readonly #ports: readonly [server: number, receiver: number];
  accepted = 0;
  delivered = 0;

  constructor(server: number, receiver: number) {
    this.#ports = [server, receiver];
  }

  async runUntil(attack: { readonly isOver: boolean }): Promise<void> {
    const [server, receiver] = this.#ports;
    const record = async (): Promise<void> => {
      const event = {
        writeKey: "honest",
        userId: "u1",
        event: "Honest",
        messageId: `honest-${this.accepted}`,
      };
      const isTaken = await this.#post(server, "/v1/track", {}, JSON.stringify(event), 200);
      if (isTaken) this.accepted += 1;
    };
    const deliver = async (): Promise<void> => {
      const { headers, body } = signedRequest({ type: "track", userId: "u1", event: "Honest" }, SECRET);
      const isTaken = await this.#post(receiver, "/webhooks", headers, body, 204);
      if (isTaken) this.delivered += 1;
    };
    while (!attack.isOver) {
      await Promise.all([record(), deliver()]);
      await delay(5);
    }
    this.#agent.destroy();
  }

  async #post(
    port: number,
    path: string,
    headers: Readonly<Record<string, string>>,
    body: string | Uint8Array,
    expected: number,
  ): Promise<boolean> {
    const startedAt = performance.now();
    const status = await new Promise<number | string>((resolve) => {
      const request = httpRequest({
        port,
        path,
        method: "POST",
        agent: this.#agent,
        headers: { ...headers, "content-length": Buffer.byteLength(body) },
      });
      request.on("response", (response) => {
        response.resume().on("close", () => resolve(response.statusCode ?? 0));
      });
      request.on("error", (error) => resolve(error.message));
      request.setTimeout(10_000, () => request.destroy(new Error("no answer within 10 s")));
      request.end(body);
    });
    this.#latencies.push(performance.now() - startedAt);
    if (status !== expected) this.#failures.push(`${path}: ${status}`);
    return status === expected;
  }

  report(): Pick<LoadReport, "latencies" | "failures"> {
    return { latencies: this.#latencies, failures: this.#failures };
  }
}
