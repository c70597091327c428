import { EventEmitter } from "node:events";
import { shardedStore, sqliteStore, type Sender } from "@countersign/sender";
import { createServer, type CountersignServer, type ServerOptions } from "@countersign/server";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { ForgeryList } from "../../src/live/forgery-list.ts";
import { apiCaller } from "../support/api-caller.ts";
import { send } from "../support/http.ts";
import { SECRET, startReceiver, type Receiver } from "../support/receiver.ts";
import { closing, temporaryDirectory } from "../../../../tests/support/resources.ts";

let receiver: Receiver;
let server: CountersignServer;
const { call } = apiCaller(() => server);

beforeEach(async () => {
  receiver = closing(await startReceiver());
});

async function start(options: Partial<ServerOptions> = {}): Promise<void> {
  server = closing(await createServer({ to: receiver.url, secret: SECRET, port: 0, ...options }));
}

/** Sends a forged message, which the receiver accepts or refuses. */
async function forge(accepts: boolean, fault = "bad_signature"): Promise<string> {
  await call("POST", "/faults", { fault });
  if (accepts) receiver.answers.push(204);
  const { deliveries } = await server.sender.track({ userId: "u1", event: "Forged" });
  await server.sender.idle();
  return deliveries[0] ?? "";
}

async function forgeries(): Promise<readonly unknown[]> {
  return ((await call("GET", "/stats")).json() as { forgeries: readonly unknown[] }).forgeries;
}

const STORES = {
  memory: () => ({}),
  file: () => ({ data: temporaryDirectory() }),
  sharded: () => ({ store: shardedStore({ a: sqliteStore(), b: sqliteStore() }, () => "b") }),
};

describe("endpoints that accept forged messages", () => {
  it.each(Object.entries(STORES))(
    "are told with a %s store, however much was delivered and removed since then, until they refuse one",
    async (_, options) => {
      await start(options());
      expect(await forgeries()).toEqual([]);
      const delivery = await forge(true);
      for (let n = 0; n < 3; n += 1) await server.sender.track({ userId: "u1", event: `Later ${n}` });
      await server.sender.idle();
      await call("DELETE", "/deliveries");
      const at = expect.stringMatching(/Z$/) as unknown;
      const place = { destination: "default/webhooks", url: receiver.url };
      expect(await forgeries()).toEqual([{ ...place, delivery, fault: "bad_signature", status: 204, at }]);
      const last = await forge(true);
      expect(await forgeries()).toMatchObject([{ delivery: last, fault: "bad_signature" }]);
      await forge(false);
      expect(await forgeries()).toEqual([]);
    },
  );

  it("stay while another fault is still accepted: who rejects a wrong signature may take a message without one", async () => {
    await start();
    await forge(true, "bad_signature");
    await forge(true, "missing_signature");
    const gauge = async () =>
      (await send(`${server.url}/metrics`)).text.match(/^countersign_accepted_forgeries.*$/gm);
    expect(await gauge()).toEqual(['countersign_accepted_forgeries{destination="default/webhooks"} 2']);
    await forge(false, "bad_signature");
    expect(await forgeries()).toMatchObject([{ fault: "missing_signature" }]);
    await forge(false, "missing_signature");
    expect(await forgeries()).toEqual([]);
    expect(await gauge()).toEqual(['countersign_accepted_forgeries{destination="default/webhooks"} 0']);
  });

  it("are known after a restart with the same data, and so is that one refuses them", async () => {
    const data = temporaryDirectory();
    await start({ data });
    const delivery = await forge(true);
    await server.close();
    await start({ data });
    expect(await forgeries()).toMatchObject([{ delivery }]);
    await forge(false);
    await server.close();
    await start({ data });
    expect(await forgeries()).toEqual([]);
  });

  it("are those of the settings: none that has gone, and none that has no secret to tell a forgery by", async () => {
    await start();
    await forge(true);
    const endpoints = [{ url: receiver.url }];
    const path = "/sources/default/destinations/webhooks";
    await call("PUT", path, { endpoints, secret: null });
    expect(await forgeries()).toEqual([]);
    await call("PUT", path, { endpoints, secret: SECRET });
    expect(await forgeries()).toHaveLength(1);
    await call("PUT", path, { endpoints: [{ url: `${receiver.url}?other` }], secret: SECRET });
    expect(await forgeries()).toEqual([]);
    // What has gone is forgotten with the next: the list is never longer than the settings.
    await forge(true);
    await call("PUT", path, { endpoints, secret: SECRET });
    expect(await forgeries()).toEqual([]);
  });

  it("have no number for a destination that has gone: an alert on it would never end", async () => {
    await start();
    const series = async (): Promise<unknown> =>
      (await send(`${server.url}/metrics`)).text.match(/^countersign_accepted_forgeries\S* .*$/gm) ?? [];
    await forge(true);
    expect(await series()).toEqual(['countersign_accepted_forgeries{destination="default/webhooks"} 1']);
    await call("DELETE", "/sources/default/destinations/webhooks");
    expect(await series()).toEqual([]);
  });

  it("are told by an event when that begins and when it ends, and not for each message", async () => {
    await start();
    const told: unknown[] = [];
    server.subscribe((event) => {
      if (event.event !== "forgery") return;
      told.push([event.destination, event.endpoint, event.fault, event.accepted]);
    });
    for (const accepts of [false, true, true, false, false]) await forge(accepts);
    expect(told).toEqual([
      ["default/webhooks", receiver.url, "bad_signature", true],
      ["default/webhooks", receiver.url, "bad_signature", false],
    ]);
  });

  it("are told when an audit finds one, unless it is of another secret or of a receiver that is no destination", async () => {
    await start();
    receiver.answers.push(...Array.from({ length: 1_000 }, () => 204));
    const audited = async (body: object): Promise<void> => {
      const { id } = (await call("POST", "/certify", body)).json() as { id: string };
      const job = async () => (await call("GET", `/certifications/${id}`)).json();
      await expect.poll(job, { timeout: 60_000 }).toMatchObject({ state: "done", passed: false });
    };
    const only = ["rejects-tampered-body", "rejects-missing-signature"];
    const destination = "default/webhooks";
    await audited({ url: receiver.url, secret: SECRET, only });
    await audited({ destination, secret: "another", only });
    expect(await forgeries()).toEqual([]);
    await audited({ destination, only });
    const fault = expect.stringMatching(/^rejects-/) as unknown;
    const at = expect.stringMatching(/Z$/) as unknown;
    expect(await forgeries()).toEqual([{ destination, url: receiver.url, fault, status: 204, at }]);
    // A fault that is refused says nothing about what the audit sent.
    receiver.answers.length = 0;
    await forge(false);
    expect(await forgeries()).toHaveLength(1);
  }, 70_000);

  it("are no longer told when all audits of theirs have passed, with the secret of the destination", async () => {
    await start();
    await forge(true);
    const destination = "default/webhooks";
    const passes = async (body: object): Promise<void> => {
      const { id } = (await call("POST", "/certify", { destination, ...body })).json() as { id: string };
      const job = async () => (await call("GET", `/certifications/${id}`)).json();
      await expect.poll(job, { timeout: 60_000 }).toMatchObject({ state: "done", passed: true });
    };
    await passes({ only: ["accepts-track", "rejects-tampered-body"] });
    expect(await forgeries()).toHaveLength(1);
    await passes({});
    expect(await forgeries()).toEqual([]);
  }, 70_000);
});

describe("what is written of the list", () => {
  const url = "https://example.com/hooks";
  let kept: (string | undefined)[][];
  let list: ForgeryList;
  let strike: (fault: string, status?: number) => void;

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const destinations = [{ name: "hooks", endpoints: [{ url }], secret: SECRET }];
    const sender = Object.assign(new EventEmitter(), {
      settings: { sources: [{ name: "shop", destinations }] },
    });
    kept = [];
    list = new ForgeryList({
      sender: sender as unknown as Sender,
      ledger: {
        forgeries: () => [],
        keepForgeries: async (forgeries) => void kept.push(forgeries.map(({ delivery }) => delivery)),
      },
      onChange: () => {},
      onError: () => {},
    });
    let count = 0;
    strike = (fault, status = 204) => {
      const delivery = { id: `d${(count += 1)}`, destination: "shop/hooks" };
      const outcome = status === 204 ? "success" : "rejected";
      sender.emit("attempt", {
        delivery,
        attempt: { endpoint: url, fault, status, outcome, startedAt: new Date(0) },
      });
    };
  });

  it("of an endpoint that accepts all is a write when it begins, and one a minute, though a fault strikes every message", () => {
    for (let n = 0; n < 1_000; n += 1) strike("bad_signature");
    expect(kept).toEqual([["d1"]]);
    expect(list.list()).toMatchObject([{ delivery: "d1000" }]);
    strike("missing_signature");
    expect(kept).toEqual([["d1"], ["d1000", "d1001"]]);
    for (let second = 0; second < 60; second += 1) {
      strike("bad_signature");
      vi.advanceTimersByTime(1_000);
    }
    expect(kept).toHaveLength(3);
    strike("bad_signature");
    expect(kept.at(-1)).toEqual(["d1001", "d1062"]);
  });

  it("of an endpoint that accepts and refuses forgeries in turn is one a minute as well, and the last is kept", () => {
    for (let n = 0; n < 1_000; n += 1) strike("bad_signature", n % 2 === 0 ? 204 : 401);
    expect(kept).toEqual([["d1"]]);
    expect(list.list()).toEqual([]);
    vi.advanceTimersByTime(60_000);
    expect(kept).toEqual([["d1"], []]);
    vi.advanceTimersByTime(600_000);
    expect(kept).toHaveLength(2);
    strike("bad_signature");
    expect(kept.at(-1)).toEqual(["d1001"]);
    strike("bad_signature", 401);
    list.close();
    expect(kept.slice(2)).toEqual([["d1001"], []]);
    list.close();
    expect(kept).toHaveLength(4);
  });
});
