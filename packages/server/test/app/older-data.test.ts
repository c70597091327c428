import { cpSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import Database from "libsql";
import { virtualClock, type VirtualClock } from "@countersign/sender/testing";
import { createServer, type CountersignServer } from "@countersign/server";
import { describe, expect, it } from "vitest";
import { send } from "../support/http.ts";
import { SECRET, startReceiver, type Receiver } from "../support/receiver.ts";
import { closing, temporaryDirectory } from "../../../../tests/support/resources.ts";

const fixture = fileURLToPath(new URL("../fixtures/data-658f33b", import.meta.url));

/** Opens a copy of the data, one minute after it was written. */
async function open(): Promise<{ server: CountersignServer; receiver: Receiver; clock: VirtualClock }> {
  const data = temporaryDirectory();
  cpSync(fixture, data, { recursive: true });
  const receiver = closing(await startReceiver());
  const clock = virtualClock("2026-11-21T17:45:26.000Z");
  const server = closing(await createServer({ to: receiver.url, secret: SECRET, port: 0, data, clock }));
  return { server, receiver, clock };
}

function idsOf({ webhooks }: Receiver): unknown[] {
  return webhooks.map((message) => "messageId" in message && message.messageId).toSorted();
}

describe("data written by the first release", () => {
  it("keeps its pending deliveries, which are delivered, and its finished ones, which are not sent again", async () => {
    const { server, receiver, clock } = await open();
    await clock.advance("4h");
    expect(idsOf(receiver)).toEqual(["m-pending-1", "m-pending-2"]);
    const states = (await server.sender.deliveries()).map(({ state }) => state).toSorted();
    expect(states).toEqual([...Array.from({ length: 8 }, () => "delivered"), "failed"]);
  });

  it("still recognises repeats, by the id of a message and by the id of its batch", async () => {
    const { server, receiver, clock } = await open();
    const track = (messageId: string): object => ({ type: "track", userId: "u", event: "E", messageId });
    const batches = [
      { batch: [track("m-delivered-1"), track("m-failed-1"), track("m-pending-1"), track("m-new")] },
      { messageId: "batch-1", batch: [{ type: "identify", userId: "u-delivered-3" }] },
    ];
    for (const batch of batches) {
      const body = { writeKey: "any", ...batch };
      expect((await send(`${server.url}/v1/batch`, { method: "POST", body })).status).toBe(200);
    }
    await clock.advance("4h");
    expect(idsOf(receiver)).toEqual(["m-new", "m-pending-1", "m-pending-2"]);
  });

  it("recognises them for their 24 hours, and not longer", async () => {
    const { server, receiver, clock } = await open();
    const track = async (): Promise<void> => {
      const body = { writeKey: "any", type: "track", userId: "u", event: "E", messageId: "m-delivered-1" };
      expect((await send(`${server.url}/v1/track`, { method: "POST", body })).status).toBe(200);
      await clock.advance("4h");
    };
    await clock.advance("19h");
    await track();
    expect(idsOf(receiver)).toEqual(["m-pending-1", "m-pending-2"]);
    await clock.advance("1h");
    await track();
    await track();
    expect(idsOf(receiver)).toEqual(["m-delivered-1", "m-pending-1", "m-pending-2"]);
  });

  it("still knows the members of an audience, and the rejected messages", async () => {
    const { server } = await open();
    const body = { userIds: ["u-delivered-1", "u-new"] };
    const synced = await send(`${server.url}/api/audiences/VIP%20Customers`, { method: "PUT", body });
    expect(synced.json()).toMatchObject({ changed: ["u-new"], removed: ["u-delivered-4"] });
    expect((await send(`${server.url}/api/rejections`)).json()).toMatchObject([
      { messageId: "m-rejected", reason: "missing_event" },
    ]);
  });
});

it("deliveries of a newer version keep the server from starting, without the name of a package that nobody has installed", async () => {
  const data = temporaryDirectory();
  cpSync(fixture, data, { recursive: true });
  const path = join(data, "deliveries.db");
  const db = new Database(path);
  db.exec("PRAGMA user_version = 1000");
  db.close();
  await expect(createServer({ to: "http://127.0.0.1:9/", port: 0, data })).rejects.toMatchObject({
    code: "ERR_DATA_VERSION",
    message: `${path} was written by a newer version of countersign. Upgrade this one, or use another data directory.`,
  });
});
