import { verifySignature } from "@countersign/core";
import { type Fault, FAULTS } from "@countersign/sender/faults";
import { virtualClock } from "@countersign/sender/testing";
import { describe, expect, it } from "vitest";
import { openSender } from "./support/open-sender.ts";
import { type Received, startReceiver } from "./support/receiver.ts";

const SECRET = "secret";

function signatureOf({ headers, body }: Received): string {
  const signature = headers["x-signature"];
  if (typeof signature !== "string") return "missing";
  return verifySignature(body, signature, SECRET).ok ? "good" : "bad";
}

describe("inject()", () => {
  it("reorder lets later messages overtake one, once", async () => {
    const receiver = await startReceiver();
    const clock = virtualClock();
    const sender = await openSender({ url: receiver.url, clock });
    const injected = sender.inject("reorder", { messageId: "m1", times: Infinity });
    await sender.track({ userId: "u1", event: "first", messageId: "m1" });
    await sender.track({ userId: "u1", event: "second" });
    await clock.advance("10s");
    expect(receiver.received.map(({ message }) => message["event"])).toEqual(["second", "first"]);
    injected.cancel();
    expect(injected.remaining).toBe(0);
    await sender.idle();
  });

  it("a scope limits a fault to an endpoint, a message or a delivery", async () => {
    const receiver = await startReceiver(({ path }) => ({ status: path === "/1" ? 200 : 503 }));
    const clock = virtualClock();
    const endpoints = ["0", "1"].map((path) => ({ url: receiver.url + path }));
    const sender = await openSender({
      sources: [{ name: "shop", destinations: [{ endpoints, secret: SECRET }] }],
      clock,
    });
    sender.inject("missing_signature", { endpoint: `${receiver.url}1` });
    sender.inject("bad_signature", { messageId: "m2", times: 2 });
    const first = await sender.track({ userId: "u1", event: "Signed Up", messageId: "m1" });
    await first.settled();
    await (await sender.track({ userId: "u1", event: "Signed Up", messageId: "m2" })).settled();
    sender.inject("missing_signature", { deliveryId: first.deliveries[0] });
    await (await sender.track({ userId: "u1", event: "Signed Up", messageId: "m3" })).settled();
    const seen = receiver.received.map(
      (one) => `${String(one.message["messageId"])} ${one.path} ${signatureOf(one)}`,
    );
    expect(seen.toSorted()).toEqual(
      ["m1 /0 good", "m1 /1 missing", "m2 /0 bad", "m2 /1 bad", "m3 /0 good", "m3 /1 good"].toSorted(),
    );
  });

  it("an unknown fault or an invalid count is a TypeError", async () => {
    const sender = await openSender({ url: "http://127.0.0.1:9/" });
    // Callers in plain JavaScript get no help from the types.
    expect(() => sender.inject("explode" as Fault)).toThrow(new RegExp(FAULTS.join(", ")));
    expect(() => sender.inject("reset", { times: 0 })).toThrow(TypeError);
    expect(() => sender.inject("reset", { times: 1.5 })).toThrow(TypeError);
  });
});
