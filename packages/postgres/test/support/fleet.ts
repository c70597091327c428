import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { happened, nextHappening, until } from "./until.ts";

const SCRIPT = fileURLToPath(new URL("child-node.mjs", import.meta.url));

/** What one process is to do. */
export interface NodeOptions {
  readonly url: string;
  readonly schema: string;
  readonly role: "ingest" | "worker" | "both";
  /** The endpoint of the destination main of the source shop. */
  readonly to: string;
  readonly lease?: string;
  readonly concurrency?: number;
  readonly clockOffsetMs?: number;
  readonly openWithin?: string;
  /** A second database, which has the source app. */
  readonly other?: { readonly url: string; readonly schema: string };
}

/** What a process tells. */
export interface NodeMessage {
  readonly kind: string;
  /** When this process heard it, in milliseconds since 1970. */
  readonly at: number;
  readonly from?: number;
  readonly count?: number;
  readonly code?: string;
  readonly message?: string;
  readonly state?: string;
  readonly reason?: string;
  readonly messageId?: string;
  readonly ms?: number;
}

/** A process of a fleet. */
export class FleetNode {
  readonly child: ChildProcess;
  readonly messages: NodeMessage[] = [];

  private constructor(child: ChildProcess) {
    this.child = child;
    child.on("message", (message) => {
      this.messages.push({ ...(message as NodeMessage), at: Date.now() });
      happened();
    });
    child.on("exit", happened);
  }

  /** Resolves when it has opened the store. */
  static async start(options: NodeOptions): Promise<FleetNode> {
    const node = FleetNode.starting(options);
    await node.waitFor(({ kind }) => kind === "ready");
    return node;
  }

  /** It may not be able to open the store. */
  static starting(options: NodeOptions): FleetNode {
    const node = new FleetNode(
      fork(SCRIPT, [JSON.stringify(options)], { stdio: ["ignore", "ignore", "inherit", "ipc"] }),
    );
    onTestFinished(() => node.kill());
    return node;
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  /** The messages of one kind. */
  told(kind: string): readonly NodeMessage[] {
    return this.messages.filter((message) => message.kind === kind);
  }

  /** Resolves to the first message that matches, of those from `after` on. */
  async waitFor(matches: (message: NodeMessage) => boolean, after = 0): Promise<NodeMessage> {
    for (;;) {
      const found = this.messages.slice(after).find(matches);
      if (found !== undefined) return found;
      if (this.hasEnded) throw new Error("The process has ended.");
      await nextHappening();
    }
  }

  /** Has it accept calls of a source; resolves to whether it answered 200. */
  async accept(from: number, count: number, source = "shop"): Promise<boolean> {
    return (await this.acceptOrRefuse(from, count, source))?.kind === "accepted";
  }

  /** Resolves to its answer; undefined when it ended without one. */
  async acceptOrRefuse(from: number, count: number, source = "shop"): Promise<NodeMessage | undefined> {
    if (!this.child.connected) return undefined;
    const seen = this.messages.length;
    this.send({ kind: "accept", from, count, source });
    const isAnswer = (one: NodeMessage): boolean => one.from === from && one.count === count;
    return this.waitFor(isAnswer, seen).catch(() => undefined);
  }

  send(message: object): void {
    // It may be killed at this moment.
    this.child.send(message, () => {});
  }

  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    if (this.hasEnded) return;
    const ended = this.#ended();
    this.child.kill(signal);
    await ended;
  }

  async close(): Promise<void> {
    const ended = this.#ended();
    this.send({ kind: "close" });
    await ended;
  }

  /** Resolves when it has ended, and everything that it has told was heard. */
  async #ended(): Promise<void> {
    const exited = once(this.child, "exit");
    if (this.child.connected) await once(this.child, "disconnect");
    await exited;
  }
}

/** A client repeats what was not answered, with the same ids, wherever it is accepted, after a moment. */
export async function acceptUntilAnswered(
  node: () => FleetNode | undefined,
  from: number,
  count: number,
  source = "shop",
): Promise<void> {
  const isAccepted = async (): Promise<boolean> => (await node()?.accept(from, count, source)) ?? false;
  await until(`${count} from ${from} are accepted`, isAccepted, 120_000);
}

const CALLS_AT_ONCE = 10;

/** Has a process accept calls, ten at a time; `accepted` gets their ids. */
export async function acceptAll(
  node: FleetNode,
  count: number,
  accepted: Set<string>,
  first = 0,
): Promise<void> {
  for (let from = first; from < first + count; from += CALLS_AT_ONCE) {
    await acceptUntilAnswered(() => node, from, CALLS_AT_ONCE);
    for (let index = from; index < from + CALLS_AT_ONCE; index += 1) accepted.add(`m${index}`);
  }
}
