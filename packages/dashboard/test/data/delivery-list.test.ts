import { describe, expect, it, onTestFinished, vi } from "vitest";
import { DeliveryList } from "../../src/data/delivery-list.ts";
import { readFilter } from "../../src/data/filter.ts";
import { watch } from "../../src/signals/signals.ts";
import type { LiveEvent } from "../../src/shapes/types.ts";
import { startWithDeliveries } from "../support/load.ts";

/** The list of a server's deliveries, of which so many are kept in memory. */
async function listOf(count: number, capacity: number) {
  const server = await startWithDeliveries(count);
  const { fetch } = globalThis;
  vi.stubGlobal("fetch", (path: string, init?: RequestInit) => fetch(new URL(path, server.url), init));
  onTestFinished(() => void vi.unstubAllGlobals());
  const list = new DeliveryList(capacity);
  await list.load(readFilter(new URLSearchParams()), 1_000);
  return { list, server };
}

function idsIn(list: DeliveryList, from: number, to: number): (string | undefined)[] {
  return list.rows.slice(from, to).map((row) => row?.id);
}

/** Gives each answer to the question how many there are to `pass`, with what it takes to get it. */
function stubCounts(pass: (ask: () => Promise<Response>) => Promise<Response>): void {
  const { fetch } = globalThis;
  vi.stubGlobal("fetch", (path: string, init?: RequestInit) => {
    const ask = (): Promise<Response> => fetch(path, init);
    return path.includes("/count") ? pass(ask) : ask();
  });
}

describe("the list of deliveries", () => {
  it("reads rows again where they were that left memory, though thousands were accepted in the same millisecond", async () => {
    const { list } = await listOf(5_000, 2_000);
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

  it("counts what is accepted while it is asked how many there are once: whether it is counted, the answer says, and not the time", async () => {
    const { list, server } = await listOf(3, 1_000);
    await vi.waitFor(() => expect(list.all.value).toBe(3));
    const events: LiveEvent[] = [];
    server.subscribe((event) => void events.push(event as LiveEvent));
    const track = (event: string) => server.sender.track({ userId: "u1", event });
    stubCounts(async (ask) => {
      await track("Counted");
      const answer = await ask();
      await track("After the count");
      // What the page asks at the same time may be counted before that.
      list.receive(events.splice(0));
      return answer;
    });
    await list.count();
    vi.unstubAllGlobals();
    list.receive(events.splice(0));
    const count = await server.sender.count();
    await vi.waitFor(() => expect([list.total.value, list.all.value]).toEqual([count, count]));
    await track("Later");
    list.receive(events.splice(0));
    await vi.waitFor(() => expect([list.total.value, list.all.value]).toEqual([count + 1, count + 1]));
  });

  it("gives a row its place when it is drawn, and none where it is held by then, until it is released", async () => {
    const { list, server } = await listOf(3, 1_000);
    const events: LiveEvent[] = [];
    server.subscribe((event) => void events.push(event as LiveEvent));
    const idOf = async (name: string): Promise<string> =>
      (await server.sender.track({ userId: "u1", event: name })).deliveries[0] ?? "";
    const [first, second] = [await idOf("First"), await idOf("Second")];
    const isAbout = (event: LiveEvent, id: string): boolean =>
      "delivery" in event && event.delivery.id === id;
    const stop = watch(list.version, () => {
      if (!list.rows.find(first) || list.find(second)) return;
      // It has just been drawn, and is not drawn again so soon.
      list.receive(events.filter((event) => isAbout(event, second)));
      list.hold(true);
    });
    onTestFinished(stop);
    list.receive(events.filter((event) => isAbout(event, first)));
    await vi.waitFor(() => expect(list.waiting.value).toBe(1));
    expect(list.rows.find(second)).toBeUndefined();
    list.release();
    expect(list.rows.find(second)).toBeDefined();
  });

  it("is read anew, though it was outdated just after it was drawn", async () => {
    const { list } = await listOf(3, 1_000);
    const load = vi.spyOn(list, "load");
    let isOutdated = false;
    const stop = watch(list.version, () => {
      if (isOutdated) return;
      isOutdated = true;
      list.outdate();
    });
    onTestFinished(stop);
    await vi.waitFor(() => expect(load).toHaveBeenCalledOnce());
  });

  it("does not count again what it is told of after it was counted", async () => {
    const { list, server } = await listOf(3, 1_000);
    const events: LiveEvent[] = [];
    server.subscribe((event) => void events.push(event as LiveEvent));
    await server.sender.track({ userId: "u1", event: "Counted" });
    await list.count();
    list.receive(events.splice(0));
    await server.sender.track({ userId: "u1", event: "Later" });
    list.receive(events.splice(0));
    await vi.waitFor(() => expect([list.total.value, list.all.value]).toEqual([5, 5]));
    expect(list.rows.length).toBe(5);
  });

  it("is not marked as failed by a read for the filter before", async () => {
    const { list } = await listOf(1_500, 2_000);
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
