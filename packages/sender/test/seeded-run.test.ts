import { sqliteStore } from "@countersign/sender";
import { virtualClock } from "@countersign/sender/testing";
import { describe, expect, it } from "vitest";
import { openSender } from "./support/open-sender.ts";
import { startReceiver } from "./support/receiver.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

describe("a seeded run", () => {
  async function run(seed: string): Promise<{ wire: string; log: unknown }> {
    const receiver = await startReceiver(({ path, message }) => ({
      status: path === "/bad" ? 503 : message["event"] === "3" ? 200 : 500,
    }));
    const clock = virtualClock();
    const sender = await openSender({
      seed,
      clock,
      store: sqliteStore(),
      sources: [
        {
          name: "shop",
          destinations: [
            {
              endpoints: [{ url: `${receiver.url}good` }, { url: `${receiver.url}bad` }],
              secret: "secret",
            },
          ],
        },
      ],
    });
    for (let event = 0; event < 10; event += 1) {
      await sender.track({ userId: "u1", event: String(event) });
      await clock.advance("7s");
    }
    await sender.syncAudience("Big Spenders", ["a", "b"]);
    await clock.advance("1h");
    const wire = receiver.received.map(
      ({ path, body, headers }) => `${path} ${body} ${String(headers["x-signature"])}`,
    );
    const deliveries = await sender.deliveries();
    const log = deliveries.map(({ id, state, acceptedAt, attempts }) => [
      id,
      state,
      acceptedAt,
      attempts.map(({ startedAt, outcome }) => [startedAt, outcome]).toSorted(),
    ]);
    return { wire: wire.toSorted().join("\n"), log };
  }

  it(
    "repeats to the byte: ids, bodies, signatures, times of every attempt",
    { timeout: 120_000 },
    async () => {
      const [first, second, other] = [await run("a"), await run("a"), await run("b")];
      expect(first.wire.length).toBeGreaterThan(10_000);
      expect(second).toEqual(first);
      expect(other.wire).not.toBe(first.wire);
    },
  );

  it("a store that is opened again does not get the same ids again", async () => {
    const receiver = await startReceiver();
    const ids: string[] = [];
    const path = `${temporaryFolder()}/deliveries.db`;
    for (let opened = 0; opened < 2; opened += 1) {
      const sender = await openSender({
        url: receiver.url,
        seed: 1,
        clock: virtualClock(),
        store: sqliteStore({ path }),
      });
      const receipt = await sender.track({ userId: "u1", event: "e" });
      ids.push(receipt.messageId, ...receipt.deliveries);
      await receipt.settled();
      await sender.close();
    }
    expect(new Set(ids).size).toBe(4);
  });
});
