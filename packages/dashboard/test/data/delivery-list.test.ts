import { describe, expect, it, onTestFinished, vi } from "vitest";
import { DeliveryList } from "../../src/data/delivery-list.ts";
import { readFilter } from "../../src/data/filter.ts";
import type { DeliveryInfo, LiveEvent } from "../../src/shapes/types.ts";
import { startWithDeliveries } from "../support/load.ts";

/** The list of a server's deliveries, of which so many are kept in memory. */
async function listOf(count: number, capacity: number): Promise<DeliveryList> {
  const server = await startWithDeliveries(count);
  const { fetch } = globalThis;
  vi.stubGlobal("fetch", (path: string, init?: RequestInit) => fetch(new URL(path, server.url), init));
  onTestFinished(() => void vi.unstubAllGlobals());
  const list = new DeliveryList(Date.now, capacity);
  await list.load(readFilter(new URLSearchParams()), 1_000);
  return list;
}

function idsIn(list: DeliveryList, from: number, to: number): (string | undefined)[] {
  return list.rows.slice(from, to).map((row) => row?.id);
}

/** What the stream would tell of the first delivery in a list. */
function firstOf(list: DeliveryList): DeliveryInfo {
  const [row] = list.rows.slice(0, 1);
  const { id = "", acceptedAt = 0, type = "", destination = "", identity = "" } = row ?? {};
  const told = { id, type, destination, identity, messageId: "m", source: "default" };
  return { ...told, acceptedAt: new Date(acceptedAt).toISOString() };
}

function accepted(delivery: DeliveryInfo): LiveEvent {
  return { id: delivery.id, at: delivery.acceptedAt, event: "accepted", delivery };
}

/** After everything was counted. */
function later(): string {
  return new Date(Date.now() + 60_000).toISOString();
}

describe("the list of deliveries", () => {
  it("reads rows again where they were that left memory, though thousands were accepted in the same millisecond", async () => {
    const list = await listOf(5_000, 2_000);
    const seen = idsIn(list, 0, 1_000);
    while (list.rows.length < 5_000) {
      const before = list.rows.length;
      seen.push(...(await nextPage(list, before)));
    }
    expect(list.rows.loaded).toBeLessThanOrEqual(2_000);
    expect(new Set(seen).size).toBe(5_000);
    for (const from of [0, 1_700, 2_600, 4_400]) {
      await vi.waitFor(async () => {
        await list.look(from, from + 400);
        expect(idsIn(list, from, from + 400)).toEqual(seen.slice(from, from + 400));
      });
      expect(list.rows.length).toBe(5_000);
    }
  });

  it("does not count a delivery twice that it has listed before its event comes", async () => {
    const list = await listOf(3, 1_000);
    await vi.waitFor(() => expect(list.all.value).toBe(3));
    const delivery = firstOf(list);
    const other = { ...delivery, id: "0192f0c1-0000-7000-8000-000000000000", acceptedAt: later() };
    list.receive([accepted(delivery), accepted(other)]);
    await vi.waitFor(() => expect(list.total.value).toBe(4));
    expect(list.all.value).toBe(4);
  });

  it("does not count a delivery twice that was counted before its event comes, and lists it", async () => {
    const list = await listOf(3, 1_000);
    await vi.waitFor(() => expect(list.all.value).toBe(3));
    const before = new Date(Date.now() - 60_000).toISOString();
    const other = { ...firstOf(list), id: "0192f0c1-0000-7000-8000-000000000001" };
    list.receive([
      accepted({ ...other, acceptedAt: before }),
      accepted({ ...other, id: "0192f0c1-0000-7000-8000-000000000002", acceptedAt: later() }),
    ]);
    await vi.waitFor(() => expect(list.total.value).toBe(4));
    expect(list.all.value).toBe(4);
    expect(list.rows.find(other.id)).toBeDefined();
  });

  it("is not marked as failed by a read for the filter before", async () => {
    const list = await listOf(1_500, 2_000);
    const { fetch } = globalThis;
    let fail = (): void => {};
    const isLost = new Promise<never>((_, reject) => (fail = () => reject(new Error("lost"))));
    vi.stubGlobal("fetch", (path: string, init?: RequestInit) =>
      path.includes("after=") ? isLost : fetch(path, init),
    );
    const more = list.more();
    await list.load(readFilter(new URLSearchParams("type=track")));
    fail();
    await more;
    expect(list.state.value.kind).toBe("ready");
  });
});

async function nextPage(list: DeliveryList, from: number): Promise<(string | undefined)[]> {
  await list.more();
  const ids = idsIn(list, from, list.rows.length);
  list.rows.trim(from);
  return ids;
}
