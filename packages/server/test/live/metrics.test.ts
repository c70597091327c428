import { createHealthServer, createServer, type CountersignServer } from "@countersign/server";
import { createSender, sqliteStore, type Transport } from "@countersign/sender";
import { type StoreContext, StoreError } from "@countersign/sender/store";
import { virtualClock } from "@countersign/sender/testing";
import { Counter } from "prom-client";
import { expect, it, onTestFinished, vi } from "vitest";
import { coreMs } from "../../../core/test/support/core-ms.ts";
import { changedStore } from "../../../sender/test/support/changed-store.ts";
import { send } from "../support/http.ts";
import { SECRET, startReceiver } from "../support/receiver.ts";
import { closing, temporaryDirectory } from "../../../../tests/support/resources.ts";

it("a failure streak is that of the endpoints that a destination has now", async () => {
  const [former, next] = [closing(await startReceiver()), closing(await startReceiver())];
  next.down = true;
  const clock = virtualClock("2026-01-31T15:00:00Z");
  const server = closing(await createServer({ to: former.url, secret: SECRET, port: 0, clock }));
  const destination = `${server.url}/api/sources/default/destinations/webhooks`;
  const streaks = async (): Promise<readonly string[]> => {
    const { text } = await send(`${server.url}/metrics`);
    return text.match(/^countersign_failure_streak.*$/gm) ?? [];
  };

  await server.sender.track({ userId: "u1", event: "Ordered" });
  await server.sender.idle();
  expect(await streaks()).toEqual(['countersign_failure_streak{destination="default/webhooks"} 0']);
  const body = { endpoints: [{ url: next.url }], secret: SECRET };
  expect((await send(destination, { method: "PUT", body })).status).toBe(200);
  await server.sender.track({ userId: "u1", event: "Ordered" });
  await clock.advance("1h");
  expect(await streaks()).toEqual([expect.stringMatching(/destination="default\/webhooks"\} [1-9]/)]);
  expect((await send(destination, { method: "DELETE" })).status).toBe(200);
  expect(await streaks()).toEqual([]);
});

it("a counter of what is set up begins with 0, since Prometheus sees no increase in one that begins with its first failure", async () => {
  const receiver = closing(await startReceiver());
  const endpoints = [{ url: receiver.url }];
  const sources = [
    { name: "shop", destinations: [{ endpoints, secret: SECRET }] },
    { name: "blog", destinations: [] },
  ];
  const server = closing(await createServer({ sources, port: 0 }));
  const counters = async (): Promise<readonly string[]> =>
    (await send(`${server.url}/metrics`)).text.match(/^countersign_\w+_total\{.*$/gm) ?? [];
  const reasons = [
    "no_write_key",
    "unknown_write_key",
    "not_an_object",
    "no_batch",
    "missing_type",
    "unknown_type",
    "no_user_anon_id",
    "missing_user_id",
    "missing_previous_id",
    "missing_event",
    "missing_group_id",
    "invalid_field",
    "invalid_timestamp",
    "message_id_too_long",
    "message_too_large",
    "nested_too_deeply",
    "unsafe_integer",
    "refused_by_sender",
  ];
  const before = [
    'countersign_calls_accepted_total{source="shop"} 0',
    'countersign_calls_accepted_total{source="blog"} 0',
    ...["shop", "blog"].flatMap((source) =>
      ["integrations", "blocked_event", "no_destination"].map(
        (reason) => `countersign_calls_skipped_total{source="${source}",reason="${reason}"} 0`,
      ),
    ),
    'countersign_calls_duplicate_total{source="shop"} 0',
    'countersign_calls_duplicate_total{source="blog"} 0',
    ...reasons.map((reason) => `countersign_calls_rejected_total{reason="${reason}"} 0`),
    'countersign_calls_warned_total{reason="unsafe_integer"} 0',
    'countersign_requests_refused_total{code="store_full"} 0',
    'countersign_requests_refused_total{code="unavailable"} 0',
    'countersign_requests_refused_total{code="overloaded"} 0',
    'countersign_deliveries_ended_total{destination="shop/webhooks",state="delivered"} 0',
    'countersign_deliveries_ended_total{destination="shop/webhooks",state="failed"} 0',
    'countersign_deliveries_ended_total{destination="shop/webhooks",state="expired"} 0',
    'countersign_responses_slow_total{destination="shop/webhooks"} 0',
  ];
  expect(await counters()).toEqual(before);

  // Also one that is added while the server runs. What has been counted stays.
  const body = { endpoints, secret: "not that of the receiver" };
  const added = await send(`${server.url}/api/sources/shop/destinations/added`, { method: "PUT", body });
  expect(added.status).toBe(200);
  expect(await counters()).toContain(
    'countersign_deliveries_ended_total{destination="shop/added",state="failed"} 0',
  );
  const call = { writeKey: "shop", userId: "u1", event: "Ordered" };
  expect((await send(`${server.url}/v1/track`, { method: "POST", body: call })).status).toBe(200);
  await server.sender.idle();
  for (const [name, state] of [
    ["added", "failed"],
    ["webhooks", "delivered"],
  ])
    expect(await counters()).toContain(
      `countersign_deliveries_ended_total{destination="shop/${name}",state="${state}"} 1`,
    );
});

it("a scraper that asks for OpenMetrics, as Prometheus does, gets the text format with the same names: else alerts would find no counter", async () => {
  const server = closing(await createServer({ to: "http://127.0.0.1:9/", port: 0 }));
  const accept = "application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.7,*/*;q=0.1";
  for (const headers of [{}, { accept }, { accept: "application/json" }, {}]) {
    const { headers: answered, text } = await send(`${server.url}/metrics`, { headers });
    expect(answered["content-type"]).toBe("text/plain; version=0.0.4; charset=utf-8");
    expect(text).toContain("# TYPE countersign_calls_accepted_total counter\n");
    expect(text).toContain('\ncountersign_calls_accepted_total{source="default"} 0\n');
  }
});

it("a destination that is disabled can be told by the metrics, and so can the calls that went nowhere since", async () => {
  const receiver = closing(await startReceiver());
  const server = closing(await createServer({ to: receiver.url, secret: SECRET, port: 0 }));
  const found = async (): Promise<readonly string[]> =>
    (await send(`${server.url}/metrics`)).text.match(
      /^countersign_(?:destination_enabled|calls_(?:accepted|skipped)_total\{.*[1-9]$).*/gm,
    ) ?? [];
  const track = async (): Promise<void> => {
    const body = { writeKey: "any", userId: "u1", event: "Ordered" };
    expect((await send(`${server.url}/v1/track`, { method: "POST", body })).status).toBe(200);
  };
  const accepted = (count: number): string => `countersign_calls_accepted_total{source="default"} ${count}`;
  await track();
  expect(await found()).toEqual([
    accepted(1),
    'countersign_destination_enabled{destination="default/webhooks"} 1',
  ]);
  const body = { endpoints: [{ url: receiver.url }], enabled: false };
  const path = `${server.url}/api/sources/default/destinations/webhooks`;
  expect((await send(path, { method: "PUT", body })).status).toBe(200);
  await track();
  expect(await found()).toEqual([
    accepted(2),
    'countersign_calls_skipped_total{source="default",reason="no_destination"} 1',
    'countersign_destination_enabled{destination="default/webhooks"} 0',
  ]);
});

it("the series of a source go with it, since each that was ever there was in every scrape", async () => {
  const receiver = closing(await startReceiver());
  const server = closing(await createServer({ to: receiver.url, secret: SECRET, port: 0 }));
  const source = `${server.url}/api/sources/gone`;
  const series = async (): Promise<readonly string[]> =>
    (await send(`${server.url}/metrics`)).text.match(/^countersign_\w+\{.*"gone.*$/gm) ?? [];
  const put = async (): Promise<void> => {
    expect((await send(source, { method: "PUT", body: { writeKey: "gone" } })).status).toBe(200);
    const body = { endpoints: [{ url: receiver.url }], secret: SECRET };
    expect((await send(`${source}/destinations/webhooks`, { method: "PUT", body })).status).toBe(200);
    const call = { writeKey: "gone", userId: "u1", event: "Ordered" };
    expect((await send(`${server.url}/v1/track`, { method: "POST", body: call })).status).toBe(200);
    await server.sender.idle();
  };
  await put();
  const ended = 'countersign_deliveries_ended_total{destination="gone/webhooks",state="delivered"} 1';
  expect(await series()).toContain(ended);
  expect(await series()).toContain(
    'countersign_response_seconds_count{destination="gone/webhooks",outcome="success"} 1',
  );
  expect((await send(source, { method: "DELETE" })).status).toBe(200);
  // The store keeps its deliveries, and counts them.
  expect((await series()).filter((one) => !/deliveries_(?:kept|pending)|oldest_pending/.test(one))).toEqual(
    [],
  );
  // It begins anew, as after a restart.
  await put();
  expect(await series()).toContain(ended);
});

it("a server with thousands of destinations answers others before a scrape of it ends, and makes no series again that it has made", async () => {
  const endpoints = [{ url: "http://127.0.0.1:9/" }];
  const sources = Array.from({ length: 3_000 }, (_, index) => ({
    name: `s${index}`,
    destinations: [{ endpoints, secret: SECRET }],
  }));
  const increase = vi.spyOn(
    Counter.prototype as unknown as { incWithoutExemplar(): void },
    "incWithoutExemplar",
  );
  onTestFinished(() => increase.mockRestore());
  const server = closing(await createServer({ sources, port: 0 }));
  const found: [answered: number, made: number, text: string][] = [];
  for (let n = 0; n < 2; n += 1) {
    increase.mockClear();
    let isDone = false;
    let answered = 0;
    const scrape = send(`${server.url}/metrics`).finally(() => (isDone = true));
    for (;;) {
      expect((await send(`${server.url}/healthz`)).status).toBe(200);
      if (isDone) break;
      answered += 1;
    }
    found.push([answered, increase.mock.calls.length, (await scrape).text]);
  }
  const [first, second] = found as [(typeof found)[0], (typeof found)[0]];
  expect(Math.min(first[0], second[0])).toBeGreaterThanOrEqual(2);
  expect(first[1]).toBeGreaterThan(9 * sources.length);
  expect(second[1]).toBeLessThan(100);
  expect(second[2]).toBe(first[2]);
}, 60_000);

it("the stats of many destinations are found in one pass: a look through all for each of 2,000 took longer than a scrape may", async () => {
  const endpoints = [{ url: "http://127.0.0.1:9/" }];
  const sources = Array.from({ length: 2_000 }, (_, index) => ({
    name: `s${index}`,
    destinations: [{ endpoints, secret: SECRET }],
  }));
  const server = closing(await createServer({ sources, port: 0 }));
  const used = await coreMs(async () => {
    expect((await send(`${server.url}/api/stats`)).text).toContain("s1999/webhooks");
  });
  expect(used).toBeLessThan(300);
}, 60_000);

/** The sum of the series of each of these metrics, as one scrape has them; undefined for what it has none of. */
async function valuesOf(
  { url }: Pick<CountersignServer, "url">,
  names: readonly string[],
): Promise<readonly (number | undefined)[]> {
  const { text } = await send(`${url}/metrics`);
  return names.map((name) => {
    const values = [...text.matchAll(new RegExp(`^countersign_${name}(?:\\{.*\\})? (.+)$`, "gmu"))];
    return values.length === 0 ? undefined : values.reduce((sum, [, value]) => sum + Number(value), 0);
  });
}

/** The rule CountersignStoreFillsUp of the guide. */
async function fillsUp(server: CountersignServer): Promise<boolean> {
  const names = ["store_used_bytes", "store_limit_bytes", "deliveries_pending", "deliveries_kept"];
  const [used = 0, limit = 0, pending = 0, kept = 0] = await valuesOf(server, names);
  return used / limit > 0.7 && pending > kept / 4;
}

it.each([
  ["in memory", () => ({})],
  ["on disk", () => ({ data: temporaryDirectory() })],
])(
  "a store %s shows that it fills up before it refuses calls, and not while ended deliveries fill it",
  async (_, where) => {
    const receiver = closing(await startReceiver());
    const clock = virtualClock("2026-01-31T15:00:00Z");
    const limits = { maxBytes: 1_048_576, ...where() };
    const server = closing(
      await createServer({ to: receiver.url, secret: SECRET, port: 0, clock, ...limits }),
    );
    const track = async (number = 1): Promise<void> => {
      const properties = { padding: "x".repeat(4_000) };
      const call = { type: "track", userId: "u1", event: "Ordered", properties } as const;
      const timestamp = new Date(clock.now()).toISOString();
      await server.sender.accept(Array.from({ length: number }, () => ({ ...call, timestamp })));
    };
    const shareOf = async (): Promise<number> => {
      const [used = 0, limit] = await valuesOf(server, ["store_used_bytes", "store_limit_bytes"]);
      expect(limit).toBe(1_048_576);
      return used / 1_048_576;
    };

    for (let n = 0; n < 400; n += 20) {
      await track(20);
      await server.sender.idle();
    }
    // What ended is removed some at a time: the share falls to just about 0.7, and rises again.
    let share = await shareOf();
    for (; share < 0.75; share = await shareOf()) {
      await track();
      await server.sender.idle();
    }
    expect(share).toBeLessThanOrEqual(0.8);
    expect(await fillsUp(server)).toBe(false);

    receiver.down = true;
    let wasTold = 0;
    for (let n = 0; ; n += 1) {
      if (wasTold === 0 && (await fillsUp(server))) wasTold = n;
      const refused = await track().then(
        () => false,
        () => true,
      );
      if (!refused) continue;
      expect(wasTold).toBeGreaterThan(0);
      expect(n).toBeGreaterThan(2 * wasTold);
      break;
    }
  },
);

it("a store without a limit has no gauges of how full it is: 0 bytes of room would be an alert", async () => {
  const store = sqliteStore({ path: `${temporaryDirectory()}/deliveries.db` });
  const server = closing(await createServer({ to: "http://127.0.0.1:9/", port: 0, store }));
  expect(await valuesOf(server, ["store_used_bytes", "store_limit_bytes"])).toEqual([undefined, undefined]);
  expect((await send(`${server.url}/api/stats`)).json()).not.toHaveProperty("space");
});

it("a scrape asks the store once for what it counts, whatever is made of the answer", async () => {
  let asked = 0;
  const store = changedStore(sqliteStore(), (original) => ({
    counts() {
      asked += 1;
      return original.counts();
    },
  }));
  const server = closing(await createServer({ to: "http://127.0.0.1:9/", port: 0, store }));
  asked = 0;
  await send(`${server.url}/metrics`);
  expect(asked).toBe(1);
});

it("the status of /readyz is a metric, each status with 1 or 0, also while the store takes calls and answers no question", async () => {
  let context: (() => StoreContext) | undefined;
  let answers = true;
  const store = changedStore(sqliteStore(), (original, known) => {
    context = known;
    return {
      counts: () =>
        answers ? original.counts() : Promise.reject(new StoreError("ERR_STORE_FAILED", "Away.")),
    };
  });
  const server = closing(await createServer({ to: "http://127.0.0.1:9/", port: 0, store }));
  const found = async (): Promise<unknown> => {
    const { text } = await send(`${server.url}/metrics`);
    const series = [...text.matchAll(/^countersign_status\{status="(\w+)"\} ([01])$/gmu)];
    expect(series.map(([, status]) => status)).toEqual(["ok", "degraded", "full", "down", "unsafe"]);
    const { status, text: body } = await send(`${server.url}/readyz`);
    return [
      series.filter(([, , value]) => value === "1").map(([, name]) => name),
      (JSON.parse(body) as { status: string }).status,
      status,
    ];
  };
  expect(await found()).toEqual([["ok"], "ok", 200]);
  context?.().stateChanged({ state: "up", reason: "No process delivers." });
  expect(await found()).toEqual([["degraded"], "degraded", 200]);
  for (const state of ["down", "unsafe"] as const) {
    context?.().stateChanged({ state, reason: "Away." });
    expect(await found()).toEqual([[state], state, 503]);
  }
  context?.().stateChanged({ state: "up" });
  answers = false;
  // Calls can be stored. For a second, /readyz uses the answer that it had.
  await expect.poll(found, { timeout: 30_000 }).toEqual([["degraded"], "degraded", 200]);
});

it("a response that takes more than four of the five seconds counts as slow, and none in time does, nor one that never comes", async () => {
  const results = [
    { outcome: "success", status: 204, durationMs: 3_999 },
    { outcome: "success", status: 204, durationMs: 4_001 },
    { outcome: "timeout", durationMs: 5_001 },
  ] as const;
  const left = [...results];
  const responseBody = new Uint8Array();
  const transport: Transport = {
    send: () => Promise.resolve({ ...(left.shift() ?? results[0]), responseBody }),
    close: () => Promise.resolve(),
  };
  const clock = virtualClock();
  const sender = closing(await createSender({ url: "http://127.0.0.1:9/", transport, clock }));
  const health = closing(await createHealthServer({ port: 0 }));
  health.watch(sender);
  const slow = async (): Promise<number | undefined> => (await valuesOf(health, ["responses_slow_total"]))[0];
  const found: (number | undefined)[] = [await slow()];
  while (left.length > 0) {
    const retried = new Promise((resolve) => sender.once("attempt", resolve));
    await sender.track({ userId: "u1", event: "Ordered" });
    await retried;
    found.push(await slow());
  }
  expect(found).toEqual([0, 0, 1, 1]);
});
