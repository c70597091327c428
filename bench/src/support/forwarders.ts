import { createSender, sqliteStore, type Duration, type RetryPolicy, type Sender } from "@countersign/sender";
import { Pool } from "undici";
import type { Contender } from "../harness/contest.ts";
import { deliveredBy, orderMessage, signedPost, trackMany, trackOrder } from "./calls.ts";
import { SECRET } from "./messages.ts";

/** Connections to the endpoint, for each contender. */
export const CONNECTIONS = 50;

/** What a sender of a bench may differ in. */
interface SenderUnderLoad {
  /** One to five endpoints of its one destination. */
  readonly urls: readonly string[];
  /** The file of its store. Default: none, in memory. */
  readonly path?: string;
  /** Default: {@link CONNECTIONS}. */
  readonly concurrency?: number;
  readonly retry?: Partial<RetryPolicy>;
  readonly keepFor?: Duration;
}

/** A sender that signs, with one destination. */
export function openSender(options: SenderUnderLoad): Promise<Sender> {
  const { urls, path, concurrency = CONNECTIONS, retry, keepFor } = options;
  const endpoints = urls.map((url) => ({ url }));
  return createSender({
    sources: [{ name: "bench", destinations: [{ endpoints, secret: SECRET, concurrency }] }],
    store: sqliteStore({ path, keepFor }),
    retry,
  });
}

/** How many units a second, when `action` does so many. */
export async function perSecond(units: number, action: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await action();
  return (units / (performance.now() - start)) * 1_000;
}

/** Messages a second through a sender, from the first call to the last delivery. */
export function forwarding(name: string, sender: Sender, messages: number): Contender {
  return {
    name,
    measure: () =>
      perSecond(messages, async () => {
        const delivered = deliveredBy(sender, messages);
        await trackMany(messages, (index) => trackOrder(sender, index));
        await delivered;
      }),
  };
}

/** Messages a second of a loop that signs and posts, and keeps nothing: what a sender cannot pass. */
export function bareLoop(name: string, pool: Pool, messages: number): Contender {
  return {
    name,
    measure: () =>
      perSecond(messages, () => {
        let next = 0;
        const strand = async (): Promise<void> => {
          while (next < messages) {
            const post = signedPost(orderMessage(next));
            next += 1;
            const { statusCode, body } = await pool.request({ method: "POST", path: "/", ...post });
            await body.dump();
            if (statusCode !== 200) throw new Error(`The endpoint answered ${statusCode}.`);
          }
        };
        return Promise.all(Array.from({ length: CONNECTIONS }, strand));
      }),
  };
}

/** An undici pool of {@link CONNECTIONS} connections. */
export function openPool(url: string): Pool {
  return new Pool(url, { connections: CONNECTIONS });
}
