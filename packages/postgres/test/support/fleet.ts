import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { postgresStore } from "@countersign/postgres";
import { systemClock } from "@countersign/protocol";
import { onTestFinished } from "vitest";

const SCRIPT = fileURLToPath(new URL("child-node.mjs", import.meta.url));

/** What one process is to do. */
export interface NodeOptions {
  readonly url: string;
  readonly schema: string;
  readonly role: "ingest" | "worker" | "both";
  readonly to: string;
  readonly lease?: string;
  readonly concurrency?: number;
  readonly clockOffsetMs?: number;
  readonly openWithin?: string;
}

/** What a process tells. */
export interface NodeMessage {
  readonly kind: string;
  readonly from?: number;
  readonly count?: number;
  readonly code?: string;
  readonly message?: string;
  readonly state?: string;
  readonly reason?: string;
  readonly messageId?: string;
}

/** A process of a fleet. */
export class FleetNode {
  readonly child: ChildProcess;
  readonly messages: NodeMessage[] = [];

  private constructor(child: ChildProcess) {
    this.child = child;
    child.on("message", (message) => this.messages.push(message as NodeMessage));
    // Whoever waits for a message listens.
    child.setMaxListeners(0);
  }

  static async start(options: NodeOptions): Promise<FleetNode> {
    const node = new FleetNode(
      fork(SCRIPT, [JSON.stringify(options)], { stdio: ["ignore", "ignore", "inherit", "ipc"] }),
    );
    onTestFinished(() => node.kill());
    await node.waitFor(({ kind }) => kind === "ready");
    return node;
  }

  /** Resolves to the first message that matches, of those from `after` on. */
  async waitFor(matches: (message: NodeMessage) => boolean, after = 0): Promise<NodeMessage> {
    for (;;) {
      const found = this.messages.slice(after).find(matches);
      if (found !== undefined) return found;
      if (this.child.exitCode !== null || this.child.signalCode !== null)
        throw new Error("The process has ended.");
      await Promise.race([once(this.child, "message"), once(this.child, "exit")]);
    }
  }

  /** Has it accept calls; resolves to whether it answered 200. */
  async accept(from: number, count: number): Promise<boolean> {
    if (!this.child.connected) return false;
    const seen = this.messages.length;
    this.child.send({ kind: "accept", from, count });
    try {
      const answer = await this.waitFor((one) => one.from === from && one.count === count, seen);
      return answer.kind === "accepted";
    } catch {
      return false;
    }
  }

  send(message: object): void {
    this.child.send(message);
  }

  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exited = once(this.child, "exit");
    this.child.kill(signal);
    await exited;
  }

  async close(): Promise<void> {
    const exited = once(this.child, "exit");
    this.child.send({ kind: "close" });
    await exited;
  }
}

/** An endpoint that counts how often each message arrived. */
export interface Tally {
  readonly url: string;
  /** By messageId: when each of its requests arrived. */
  readonly arrivals: ReadonlyMap<string, readonly number[]>;
  /** Requests at the same time, at most. */
  readonly most: () => number;
}

export async function startTally(
  answer: (messageId: string) => number = () => 200,
  delayMs = 0,
): Promise<Tally> {
  const arrivals = new Map<string, number[]>();
  let [now, most] = [0, 0];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    now += 1;
    most = Math.max(most, now);
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const { messageId } = JSON.parse(Buffer.concat(parts).toString()) as { messageId: string };
      arrivals.set(messageId, [...(arrivals.get(messageId) ?? []), Date.now()]);
      const end = (): void => {
        now -= 1;
        response.writeHead(answer(messageId)).end();
      };
      if (delayMs === 0) end();
      else setTimeout(end, delayMs);
    });
    request.on("error", () => {});
  });
  server.keepAliveTimeout = 60_000;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close().closeAllConnections();
  });
  const { port } = server.address() as { port: number };
  return { url: `http://127.0.0.1:${port}/`, arrivals, most: () => most };
}

/** What became of what was accepted. */
export interface Account {
  readonly accepted: number;
  readonly delivered: number;
  readonly failed: number;
  readonly expired: number;
  readonly pending: number;
  /** Accepted messages that no request brought and that are not pending. */
  readonly lost: readonly string[];
  /** Requests beyond the first of each message. */
  readonly repeats: number;
}

/** Reads the store as one more process would. */
export async function accountOf(
  where: { readonly url: string; readonly schema: string },
  accepted: ReadonlySet<string>,
  tally: Tally,
): Promise<Account> {
  const store = postgresStore(where);
  const nothing = (): void => {};
  await store.open({
    clock: systemClock(),
    ended: nothing,
    missed: nothing,
    told: nothing,
    failed: nothing,
    stateChanged: nothing,
  });
  try {
    const counts = (await store.counts()).get("shop/main") ?? {
      pending: 0,
      delivered: 0,
      failed: 0,
      expired: 0,
    };
    const { pending, delivered, failed, expired } = counts;
    const arrived = [...tally.arrivals.values()];
    return {
      accepted: accepted.size,
      delivered,
      failed,
      expired,
      pending,
      lost: [...accepted].filter((id) => !tally.arrivals.has(id)),
      repeats: arrived.reduce((sum, times) => sum + times.length - 1, 0),
    };
  } finally {
    await store.close();
  }
}

/** Prints the line of a test: what was accepted is delivered, failed, expired or pending. */
export function print(account: Account, more = ""): void {
  const { accepted, delivered, failed, expired, pending, lost, repeats } = account;
  const sum = `accepted ${accepted} = delivered ${delivered} + failed ${failed} + expired ${expired} + pending ${pending}`;
  process.stdout.write(`${sum}; ${lost.length} lost, ${repeats} repeats${more}
`);
}

/** A client repeats what was not answered, with the same ids, wherever it is accepted. */
export async function acceptUntilAnswered(
  node: () => FleetNode | undefined,
  from: number,
  count: number,
): Promise<void> {
  for (;;) {
    if (await node()?.accept(from, count)) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Resolves when a condition holds; rejects with `what` after `ms`. */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  ms = 30_000,
): Promise<void> {
  const end = performance.now() + ms;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`This did not happen within ${ms} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
