import { createServer } from "@countersign/server";
import { virtualClock } from "@countersign/sender/testing";
import { expect, it } from "vitest";
import { coreMs } from "../../../core/test/support/core-ms.ts";
import { send } from "../support/http.ts";
import { SECRET, startReceiver } from "../support/receiver.ts";
import { closing } from "../support/resources.ts";

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
  const before = [
    'countersign_calls_accepted_total{source="shop"} 0',
    'countersign_calls_accepted_total{source="blog"} 0',
    'countersign_calls_duplicate_total{source="shop"} 0',
    'countersign_calls_duplicate_total{source="blog"} 0',
    'countersign_requests_refused_total{code="store_full"} 0',
    'countersign_requests_refused_total{code="unavailable"} 0',
    'countersign_requests_refused_total{code="overloaded"} 0',
    'countersign_deliveries_ended_total{destination="shop/webhooks",state="delivered"} 0',
    'countersign_deliveries_ended_total{destination="shop/webhooks",state="failed"} 0',
    'countersign_deliveries_ended_total{destination="shop/webhooks",state="expired"} 0',
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
