import * as protocol from "@countersign/protocol";
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
    expect(() => service.assertNotSent(pattern)).toThrow(/A message matches .*Order Completed/);
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
    expect(() => service.assertCount(3)).toThrow("Expected 3 messages, but there are 2.");
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

it("virtualClock() is the clock that sender and server take, too", () => {
  expect(virtualClock).toBe(protocol.virtualClock);
});
