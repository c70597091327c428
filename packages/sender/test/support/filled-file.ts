import { createSender, type Delivery, type Sender, sqliteStore } from "@countersign/sender";
import { join } from "node:path";
import { expect } from "vitest";
import { startReceiver } from "./receiver.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** The file of a sender that was closed in the middle of its work, with something of each kind. */
export interface FilledFile {
  readonly path: string;
  /** Its deliveries with all attempts: three wait, six have ended. */
  readonly deliveries: readonly Delivery[];
  /** A sender on the file. */
  readonly open: () => Promise<Sender>;
}

/** A user's id with characters that end a text in SQLite, and that PostgreSQL refuses. */
export const ODD_USER = "u\0one \uF8FF";

/** The key of its message `first`. */
export const KEY = "track first";

export async function filledFile(): Promise<FilledFile> {
  const path = join(temporaryFolder(), "deliveries.db");
  const statuses: Record<string, number> = { Waits: 500, Denied: 400 };
  const receiver = await startReceiver(({ message: { event } }) => ({
    status: statuses[String(event)] ?? 200,
  }));
  const destinations = ["crm", "mail"].map((name) => ({
    name,
    endpoints: [{ url: `${receiver.url}${name}` }],
  }));
  const open = (): Promise<Sender> =>
    createSender({
      sources: [{ name: "shop", blockedEvents: ["Blocked"], destinations }],
      store: sqliteStore({ path }),
    });
  const sender = await open();
  const timestamp = new Date().toISOString();
  const [first] = await sender.accept(
    [
      { type: "track", timestamp, messageId: "first", userId: ODD_USER, event: "Delivered", key: KEY },
      {
        type: "track",
        timestamp,
        messageId: "blocked",
        userId: "u2",
        event: "Blocked",
        key: "track blocked",
      },
    ],
    { uniqueFor: "3d" },
  );
  await first?.settled();
  const synced = await sender.syncAudience("Big Spenders", [ODD_USER]);
  await synced.settled();
  const denied = await sender.track({ userId: "u2", event: "Denied" });
  await denied.settled();
  // Both destinations wait for it, and one of them for a copy of what has failed, which has the same body.
  await sender.track({ userId: ODD_USER, event: "Waits" });
  statuses["Denied"] = 503;
  await sender.resend(denied.deliveries[0] ?? "");
  const pending = async (): Promise<readonly number[]> =>
    (await sender.deliveries({ state: "pending" })).map(({ attempts }) => attempts.length);
  await expect.poll(pending).toEqual([1, 1, 1]);
  const deliveries = await sender.deliveries();
  await sender.close();
  return { path, deliveries, open };
}
