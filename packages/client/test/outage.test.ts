import { memoryTransport, virtualClock, type Reply } from "@countersign/client/testing";
import { Analytics } from "@countersign/client";
import { describe, expect, it } from "vitest";

const EVENTS = 10_000;
const MINUTE = 60_000;
const REFUSED = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });

// The published client in the same outages: bench/outage.mjs.
describe("10,000 events, which the default bounds hold, recorded while the service is down for 30 minutes", () => {
  it.each<[string, Reply]>([
    ["connections are refused", REFUSED],
    ["503", { status: 503 }],
    ["503 with Retry-After: 0", { status: 503, headers: { "retry-after": "0" } }],
    ["429 with Retry-After: 0", { status: 429, headers: { "retry-after": "0" } }],
    [
      "429 with a date that has passed",
      { status: 429, headers: { "retry-after": "Wed, 31 Dec 2025 23:00:00 GMT" } },
    ],
    ["429 with Retry-After: 60", { status: 429, headers: { "retry-after": "60" } }],
  ])(
    "%s: every one arrives once it is back, and it is asked rarely meanwhile",
    { timeout: 180_000 },
    async (_, reply) => {
      const clock = virtualClock();
      const service = memoryTransport();
      const back = clock.now() + 30 * MINUTE;
      service.replyAlways(() => (clock.now() < back ? reply : {}));
      const analytics = new Analytics("KEY", { clock, transport: service });
      for (let n = 0; n < EVENTS; n += 1) analytics.track({ userId: `u${n}`, event: "Order Completed" });

      await clock.advance(30 * MINUTE - 1);
      expect(analytics.counts).toEqual({ delivered: 0, failed: 0, dropped: 0, pending: EVENTS });
      // Four batches at a time. Each begins with a few quick attempts, then comes every 15 s or so.
      expect(service.requests.length).toBeLessThan(4 * 160);

      await clock.advance(2 * MINUTE);
      expect(analytics.counts).toEqual({ delivered: EVENTS, failed: 0, dropped: 0, pending: 0 });
      service.assertCount(EVENTS);
      expect(clock.scheduled).toBe(0);
    },
  );

  it("close() with a deadline wins over the retries", async () => {
    const clock = virtualClock();
    const service = memoryTransport();
    service.replyAlways({ status: 429, headers: { "retry-after": "60" } });
    const analytics = new Analytics("KEY", { clock, transport: service });
    for (let n = 0; n < EVENTS; n += 1) analytics.track({ userId: `u${n}`, event: "Order Completed" });
    await clock.advance(10 * MINUTE);
    const closing = analytics.close(5_000);
    await clock.advance(5_000);
    expect(await closing).toEqual({ delivered: 0, failed: 0, dropped: EVENTS, pending: 0 });
    expect(clock.scheduled).toBe(0);
  });
});
