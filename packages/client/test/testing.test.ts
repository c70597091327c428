import { Analytics } from "@countersign/client";
import { memoryTransport, virtualClock, type MessagePattern } from "@countersign/client/testing";
import { describe, expect, it } from "vitest";

describe("memoryTransport()", () => {
  const recorded = async () => {
    const service = memoryTransport();
    const analytics = new Analytics("KEY", { transport: service });
    analytics.track({
      userId: "u1",
      event: "Order Completed",
      properties: { total: 9, items: [{ sku: "a" }, { sku: "b" }] },
    });
    analytics.identify({ userId: "u2" });
    await analytics.close();
    return service;
  };

  it.each<[MessagePattern]>([
    [{ type: "track" }],
    [{ userId: "u1", event: "Order Completed" }],
    [{ properties: { total: 9 } }],
    [{ properties: { items: [{ sku: "a" }, {}] } }],
    [{ type: "track", traits: undefined }],
  ])("finds %j", async (pattern) => {
    const service = await recorded();
    expect(service.assertSent(pattern)).toMatchObject({ event: "Order Completed" });
    expect(() => service.assertNotSent(pattern)).toThrow(/A message fits .*Order Completed/);
  });

  it.each<[MessagePattern]>([
    [{ type: "page" }],
    [{ userId: "u2", event: "Order Completed" }],
    [{ properties: { total: "9" } }],
    [{ properties: { items: [{ sku: "a" }] } }],
    [{ properties: { toString: {} } }],
    [{ properties: null }],
  ])("does not find %j, and lists what there is", async (pattern) => {
    const service = await recorded();
    expect(() => service.assertSent(pattern)).toThrow(/The service has:\n.*Order Completed.*\n.*u2/);
    expect(() => service.assertNotSent(pattern)).not.toThrow();
  });

  it("counts", async () => {
    const service = await recorded();
    expect(() => service.assertCount(2)).not.toThrow();
    expect(() => service.assertCount(3)).toThrow("Not 3 messages but 2.");
    expect(() => memoryTransport().assertSent({})).toThrow("Did you await flush()?");
  });

  it("keeps a message that is sent twice once", async () => {
    const clock = virtualClock();
    const service = memoryTransport();
    service.reply({ status: 500, stored: true });
    const analytics = new Analytics("KEY", { transport: service, clock });
    analytics.track({ userId: "u1", event: "E" });
    const closing = analytics.close();
    await clock.advance(60_000);
    await closing;
    expect(service.requests).toHaveLength(2);
    service.assertCount(1);
  });

  it("reads gzip", async () => {
    const service = memoryTransport();
    const analytics = new Analytics("KEY", { transport: service, gzip: true });
    analytics.track({ userId: "u1", event: "E" });
    await analytics.close();
    expect(service.assertSent({ event: "E" })).toMatchObject({ userId: "u1" });
  });
});

describe("virtualClock()", () => {
  it("runs timers in the order of their time, each at its own time", async () => {
    const clock = virtualClock(1_000);
    const ran: string[] = [];
    const at = (name: string, milliseconds: number): unknown =>
      clock.setTimeout(() => ran.push(`${name} ${clock.now()}`), milliseconds);
    at("b", 20);
    at("a", 10);
    at("c", 20);
    clock.clearTimeout(at("d", 15));
    clock.setTimeout(() => void at("e", 5), 12);
    at("f", 100);
    await clock.advance(50);
    expect(ran).toEqual(["a 1010", "e 1017", "b 1020", "c 1020"]);
    expect(clock.now()).toBe(1_050);
    expect(clock.timers).toBe(1);
  });

  it("lets what a timer started finish before the next one", async () => {
    const clock = virtualClock(0);
    const ran: string[] = [];
    clock.setTimeout(() => void Promise.resolve().then(() => ran.push("promise")), 1);
    clock.setTimeout(() => ran.push("timer"), 1);
    await clock.advance(1);
    expect(ran).toEqual(["promise", "timer"]);
  });
});
