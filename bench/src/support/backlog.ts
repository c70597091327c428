import { createSender, sqliteStore, type Sender, type Transport } from "@countersign/sender";
import type { Contender } from "../harness/contest.ts";
import { trackMany, trackOrder } from "./calls.ts";
import { forwarding, perSecond } from "./forwarders.ts";
import { instantTransport, silentTransport } from "./transports.ts";

/** With as many under way at once, ten pending are enough to keep a sender busy. */
const CONCURRENCY = 10;

function openWith(path: string | undefined, transport: Transport): Promise<Sender> {
  return createSender({
    sources: [
      {
        name: "bench",
        destinations: [{ endpoints: [{ url: "http://127.0.0.1:9/" }], concurrency: CONCURRENCY }],
      },
    ],
    store: sqliteStore({ path }),
    transport,
  });
}

async function pendingOf(sender: Sender): Promise<number> {
  const { destinations } = await sender.stats();
  return destinations.reduce((sum, { pending }) => sum + pending, 0);
}

/** Stores so many deliveries that nothing is sent of. */
export async function pile(path: string, pending: number): Promise<void> {
  const sender = await openWith(path, silentTransport());
  await trackMany(pending, (index) => trackOrder(sender, index), 1_000);
  await sender.close({ deadline: 0 });
}

/**
 * Messages a second of a sender with so many pending, without a network: whenever one has been delivered, another is
 * accepted, so that it delivers the oldest and the number stays.
 */
export function withBacklog(name: string, path: string, pending: number, messages: number): Contender {
  return {
    name,
    async measure() {
      const sender = await openWith(path, instantTransport());
      try {
        return await perSecond(messages, () => turnOver(sender, pending, messages));
      } finally {
        await sender.close({ deadline: 0 });
      }
    },
  };
}

/** Delivers so many, and accepts another whenever one has been delivered, so that as many stay pending. */
export function turnOver(sender: Sender, pending: number, messages: number): Promise<void> {
  return new Promise((resolve, reject) => {
    let delivered = 0;
    const accept = (): void => void trackOrder(sender, delivered).catch(reject);
    sender.on("delivered", () => {
      delivered += 1;
      if (delivered === messages) resolve();
      else if (delivered < messages) accept();
    });
    pendingOf(sender).then((left) => {
      for (let missing = pending - left; missing > 0; missing -= 1) accept();
    }, reject);
  });
}

/**
 * Messages a second of a sender in memory that keeps so many ended deliveries, and those of each round besides.
 *
 * @returns the contender, and what closes its sender
 */
export async function withKept(
  name: string,
  kept: number,
  messages: number,
): Promise<{ readonly contender: Contender; readonly close: () => Promise<void> }> {
  const sender = await openWith(undefined, instantTransport());
  await trackMany(kept, (index) => trackOrder(sender, index), 1_000);
  await sender.idle();
  return { contender: forwarding(name, sender, messages), close: () => sender.close({ deadline: 0 }) };
}
