import { createHook } from "node:async_hooks";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { promisify } from "node:util";
import type { TrackMessage } from "@countersign/core";
import { sqliteStore } from "@countersign/sender";
import type { DeliveryStore } from "@countersign/sender/store";
import { ExpectationError, virtualClock } from "@countersign/sender/testing";
import { describe, expect, expectTypeOf, it, onTestFinished } from "vitest";
import { answering } from "./support/answering.ts";
import { openSender } from "./support/open-sender.ts";
import { startReceiver } from "./support/receiver.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";
import { countTicks } from "./support/ticks.ts";

const USER = { userId: "u1" };

/** The error that a promise rejects with. */
async function failureOf(promise: Promise<unknown>): Promise<ExpectationError> {
  const error: unknown = await promise.then(
    () => new Error("it resolved"),
    (reason: unknown) => reason,
  );
  if (!(error instanceof ExpectationError)) {
    throw new Error("no ExpectationError", { cause: error });
  }
  return error;
}

/** For what happens while a test advances its clock: hours of attempts take seconds on a machine that has other work. */
const LATER = { within: "20s" } as const;

describe("sender.expect()", () => {
  it("waits for a message that is accepted later, found by its fields", async () => {
    const { url } = await startReceiver();
    const sender = await openSender({ url });

    const expected = sender.expect({ type: "track", properties: { total: 12 } }).message();
    await sender.track({ ...USER, event: "Order Started", properties: { total: 3 } });
    await sender.track({ ...USER, event: "Order Completed", properties: { total: 12, currency: "EUR" } });
    const message = await expected;

    expect(message.event).toBe("Order Completed");
    expectTypeOf(message).toEqualTypeOf<TrackMessage>();
  });

  it("reads the deliveries once for all that wait, not once for each: many would wait for minutes", async () => {
    const store = sqliteStore();
    let reads = 0;
    const list: DeliveryStore["list"] = (filter, order) => {
      reads += 1;
      return store.list(filter, order);
    };
    const sender = await openSender({
      url: "http://127.0.0.1:9/",
      store: { ...store, list },
      transport: answering({ status: 200 }),
    });

    const users = Array.from({ length: 40 }, (_, index) => ({ userId: `u${index}` }));
    const expected = users.map((user) => sender.expect(user, LATER).message());
    await expect.poll(() => reads).toBeGreaterThan(0);
    const before = reads;
    await sender.track({ userId: "u39", event: "Last" });
    expect(await expected[39]).toMatchObject({ event: "Last" });
    expect(reads - before).toBeLessThan(users.length);

    for (const user of users) await sender.track({ ...user, event: "First" });
    await Promise.all(expected);
  });

  it("waits for what deleteUser() resolves to", async () => {
    const { url } = await startReceiver();
    const sender = await openSender({ url });

    const receipts = await sender.deleteUser("u1");
    const delivery = await sender.expect(receipts).delivered();

    expect(delivery).toMatchObject({
      id: receipts[0]?.deliveries[0],
      message: { type: "delete", userId: "u1" },
    });
    expect(() => sender.expect([{ type: "track" }] as unknown as typeof receipts)).toThrow("or several");
  });

  it("finds a delivery that was resent with bytes that are no message by its receipt, and the others as before", async () => {
    const accepting = createServer((request, response) => {
      request.resume().on("end", () => response.end());
    }).listen(0, "127.0.0.1");
    onTestFinished(() => void accepting.close());
    await once(accepting, "listening");
    const { port } = accepting.address() as AddressInfo;
    const sender = await openSender({ url: `http://127.0.0.1:${port}/` });

    const { deliveries } = await sender.track({ ...USER, event: "Order Completed" });
    for (const body of ["{", "null"]) {
      const again = await sender.resend(deliveries[0] ?? "", { body });
      expect(await sender.expect(again).delivered()).toMatchObject({ id: again.deliveries[0] });
    }
    expect((await sender.expect({ event: "Order Completed" }).delivered()).id).toBe(deliveries[0]);
    expect((await sender.expect(({ type }) => type === "track").delivered()).id).toBe(deliveries[0]);
  });

  it("waits for a delivery, and gives it with its message and attempts", async () => {
    const { url } = await startReceiver();
    const sender = await openSender({ url });

    const receipt = await sender.identify({ ...USER, traits: { plan: "pro" } });
    const delivery = await sender.expect(receipt).delivered();

    expect(delivery).toMatchObject({
      id: receipt.deliveries[0],
      state: "delivered",
      message: { type: "identify" },
    });
    expect(delivery.attempts).toHaveLength(1);
  });

  it("waits for attempts, by their number or by what they come to", async () => {
    const statuses = [503, 429, 200];
    const { url } = await startReceiver(() => ({ status: statuses.shift() ?? 500 }));
    const clock = virtualClock();
    const sender = await openSender({ url, clock });
    const receipt = await sender.track({ ...USER, event: "Signed Up" });

    const all = sender
      .expect(receipt, LATER)
      .attempts([503, { status: 429, outcome: "server_error" }, "success"]);
    const two = sender.expect(receipt, LATER).attempts(2);
    await clock.advance("1h");

    expect((await two).length).toBeGreaterThanOrEqual(2);
    expect((await all).map(({ status }) => status)).toEqual([503, 429, 200]);
    // The first attempts are compared: there may be more.
    expect(await sender.expect(receipt).attempts(["server_error"])).toHaveLength(1);
  });

  it("waits for each way to end", async () => {
    const { url } = await startReceiver(({ message }) => ({ status: Number(message["event"]) }));
    const clock = virtualClock();
    const sender = await openSender({ url, clock });
    const delivered = sender.expect({ event: "200" }, LATER).delivered();
    const failed = sender.expect({ event: "400" }, LATER).failed();
    const expired = sender.expect({ event: "503" }, LATER).expired();
    const ended = sender.expect({ event: "400" }, LATER).ended();

    for (const event of ["503", "400", "200"]) {
      await sender.track({ ...USER, event });
    }
    await clock.advance("5h");

    expect((await delivered).state).toBe("delivered");
    expect((await failed).state).toBe("failed");
    expect((await expired).state).toBe("expired");
    expect((await ended).state).toBe("failed");
  });

  it("waits on for what fits when all of it was rejected, since another message may still be delivered", async () => {
    const statuses = [400, 400, 200];
    const { url } = await startReceiver(() => ({ status: statuses.shift() ?? 500 }));
    const sender = await openSender({ url });
    const { deliveries } = await sender.track({ ...USER, event: "Signed Up" });
    const delivered = sender.expect({ event: "Signed Up" }, LATER).delivered();
    await sender.expect({ event: "Signed Up" }).failed();
    const again = await sender.resend(deliveries[0] ?? "");
    await sender.expect(again).failed();
    const other = await sender.track({ ...USER, event: "Signed Up" });

    expect((await delivered).id).toBe(other.deliveries[0]);
  });

  it("waits on for a receipt when one of two endpoints has rejected it, since the other may still accept it", async () => {
    const rejecting = await startReceiver(() => ({ status: 400 }));
    const statuses = [503, 200];
    const { url } = await startReceiver(() => ({ status: statuses.shift() ?? 500 }));
    const clock = virtualClock();
    const endpoints = [{ url: rejecting.url }, { url }];
    const sender = await openSender({ sources: [{ name: "shop", destinations: [{ endpoints }] }], clock });
    const receipt = await sender.track({ ...USER, event: "Signed Up" });
    await clock.advance(0);
    const delivered = sender.expect(receipt, LATER).delivered();
    await clock.advance("1h");

    expect((await delivered).attempts.map(({ status }) => status).toSorted()).toEqual([200, 400, 503]);
  });

  it("takes the oldest message that fits, of the destination that is meant", async () => {
    const first = await startReceiver();
    const second = await startReceiver();
    const sender = await openSender({
      sources: [
        {
          name: "web",
          destinations: [
            { name: "one", endpoints: [{ url: first.url }] },
            { name: "two", endpoints: [{ url: second.url }] },
          ],
        },
      ],
    });
    await sender.track({ ...USER, event: "A", properties: { n: 1 } });
    await sender.track({ ...USER, event: "A", properties: { n: 2 } });

    const oldest = await sender.expect({ type: "track", event: "A" }).message();
    const two = await sender.expect({ event: "A" }, { destination: "web/two" }).delivered();

    expect(oldest.properties).toEqual({ n: 1 });
    expect(two).toMatchObject({ destination: "web/two", message: { properties: { n: 1 } } });
  });

  it("compares with regular expressions, functions, and matchers of the test framework", async () => {
    const { url } = await startReceiver();
    const sender = await openSender({ url });
    await sender.track({
      ...USER,
      event: "Order Completed",
      properties: { items: [{ id: 1 }, { id: 2 }], total: 12 },
    });

    await sender.expect({ event: /^order/iu }).message();
    await sender
      .expect({ event: expect.stringContaining("Completed"), messageId: expect.any(String) })
      .message();
    await sender.expect({ properties: { items: [{ id: 1 }, {}], coupon: undefined } }).message();
    await sender.expect((message) => message.type === "track" && message.event.length > 3).message();
    await sender.expect().message();
    for (const wrong of [
      { event: /^completed/iu },
      { event: expect.any(Number) },
      { properties: { items: [{ id: 1 }] } },
      { properties: { items: { length: 2 } } },
      { properties: [] },
      { total: 12 },
      { toString: expect.any(Function) },
    ]) {
      await expect(sender.expect(wrong, { within: 0 }).message()).rejects.toThrow(ExpectationError);
    }
  });
});

describe("an expectation that fails", () => {
  it("says what was expected, and that nothing was accepted", async () => {
    const { url } = await startReceiver();
    const sender = await openSender({ url });

    const error = await failureOf(sender.expect({ type: "page" }, { within: 30 }).delivered());

    expect(error).toMatchObject({ name: "ExpectationError", code: "ERR_EXPECTATION", deliveries: [] });
    expect(error.message).toBe(
      "expected a message with { type: 'page' } to be delivered within 30 ms, but this did not happen\n" +
        "No message was accepted.",
    );
  });

  it("shows the latest messages when none fits, and the calls that were skipped", async () => {
    const { url } = await startReceiver();
    const sender = await openSender({ url });
    await sender.track({ ...USER, event: "Order Started" });
    await sender.track({
      ...USER,
      event: "Order Completed",
      integrations: { Webhooks: false },
      messageId: "m1",
    });
    await sender.idle();

    const { message } = await failureOf(
      sender.expect({ event: "Order Completed" }, { within: 30 }).message(),
    );

    expect(message).toContain("No such message was accepted. The latest are:");
    expect(message).toContain('  track "Order Started" of u1 to default/webhooks: delivered; 1 attempt');
    expect(message).toContain("Calls that led to no delivery:\n  track m1 in default: integrations");
  });

  it("shows the attempts, when the next one is due, and that a virtual clock does not move by itself", async () => {
    const { url } = await startReceiver(() => ({ status: 503, body: "too\n  busy" }));
    const clock = virtualClock();
    const sender = await openSender({ url, clock });
    const receipt = await sender.track({ ...USER, event: "Signed Up" });
    await clock.advance(0);

    const error = await failureOf(sender.expect(receipt, { within: 30 }).delivered());

    expect(error.message).toMatch(
      new RegExp(
        [
          "^expected the message of the receipt to be delivered within 30 ms, but this did not happen",
          "It has one delivery:",
          '  track "Signed Up" of u1 to default/webhooks: pending, the next round in \\d+ ms of the sender\'s clock; 1 attempt',
          `    round 1, ${url}: server_error 503 after \\d+ ms; too busy`,
          "The sender's clock is virtual: it does not move until the test calls clock.advance\\(\\)\\.$",
        ].join("\n"),
        "u",
      ),
    );
    expect(error.deliveries).toHaveLength(1);
  });

  it("shows the attempt that has no response yet, so that an app that never answers is not taken for one that was not called", async () => {
    const { url, received } = await startReceiver(() => "never");
    const sender = await openSender({ url });
    const receipt = await sender.track({ ...USER, event: "Signed Up" });
    await expect.poll(() => received.length).toBe(1);

    const { message } = await failureOf(sender.expect(receipt, { within: 1 }).delivered());

    expect(message).toMatch(
      new RegExp(
        [
          'track "Signed Up" of u1 to default/webhooks: pending; 0 attempts',
          `    ${url}: no response yet, \\d+ ms after the attempt began$`,
        ].join("\n"),
        "u",
      ),
    );
  });

  it("says that a virtual clock does not move by itself, where settled() would wait on for it", async () => {
    const { url } = await startReceiver(() => ({ status: 503 }));
    const clock = virtualClock();
    const sender = await openSender({ url, clock });
    const receipt = await sender.track({ ...USER, event: "Signed Up" });
    await clock.advance(0);
    let hasSettled = false;
    const settled = receipt.settled().finally(() => (hasSettled = true));

    const { message } = await failureOf(sender.expect(receipt, { within: 30 }).ended());

    expect(message).toContain("it does not move until the test calls clock.advance().");
    expect(hasSettled).toBe(false);
    await clock.advance("4h");
    expect(await settled).toMatchObject([{ state: "expired" }]);
  });

  it("says that a handler which awaits clock.advance() waits for itself", async () => {
    const clock = virtualClock();
    const { url } = await startReceiver(async () => {
      await clock.advance("1s");
      return { status: 200 };
    });
    const sender = await openSender({ url, clock });
    const receipt = await sender.track({ ...USER, event: "Signed Up" });

    const { message } = await failureOf(sender.expect(receipt, { within: 100 }).delivered());

    expect(message).toContain("A handler that awaits clock.advance() waits for itself.");
  });

  it("names the injected faults that have not struck, since a scope that fits nothing breaks no rule", async () => {
    const { url } = await startReceiver();
    const sender = await openSender({ url });
    const elsewhere = sender.inject("status:503", { endpoint: "http://127.0.0.1:9/", times: Infinity });
    const struck = sender.inject("duplicate", { times: Infinity });
    sender.inject("reset", { messageId: "m1" }).cancel();
    const receipt = await sender.track({ ...USER, event: "Signed Up" });
    await receipt.settled();

    const { message } = await failureOf(sender.expect(receipt).attempts([503]));

    expect(message).toContain(
      "\nFaults that were injected, and have not struck:\n  status:503 { endpoint: 'http://127.0.0.1:9/', times: Infinity }",
    );
    expect(message).not.toMatch(/duplicate \{|reset \{/u);
    expect([elsewhere.struck, struck.struck]).toEqual([0, 1]);
  });

  it("does not wait for what cannot happen any more", async () => {
    const { url } = await startReceiver(() => ({ status: 400 }));
    const sender = await openSender({ url });
    const receipt = await sender.track({ ...USER, event: "Signed Up" });
    const skipped = await sender.track({ ...USER, event: "Signed Up", integrations: { All: false } });
    const hour = { within: "1h" } as const;

    const late = await failureOf(sender.expect(receipt, hour).delivered());
    const more = await failureOf(sender.expect(receipt, hour).attempts(2));
    const other = await failureOf(sender.expect(receipt, hour).attempts([500]));
    const none = await failureOf(sender.expect(skipped, hour).message());
    const elsewhere = await failureOf(sender.expect(receipt, { ...hour, destination: "a/b" }).message());

    expect(late.message).toContain("to be delivered, but this cannot happen any more");
    expect(late.message).toContain("rejected 400");
    expect(more.message).toContain("to have 2 attempts, but this cannot happen any more");
    expect(other.message).toContain("to have the attempts [ 500 ], but this cannot happen any more");
    expect(none.message).toContain("the call was skipped (integrations)");
    expect(elsewhere.message).toContain("the message of the receipt on its way to a/b to be accepted");
  });

  it("does not wait for other attempts than those that have been made", async () => {
    const { url } = await startReceiver(() => ({ status: 503 }));
    const clock = virtualClock();
    const sender = await openSender({ url, clock });
    const receipt = await sender.track({ ...USER, event: "Signed Up" });
    await clock.advance(0);

    const error = await failureOf(sender.expect(receipt, { within: "1h" }).attempts([500, 200]));

    expect(error.message).toContain("to have the attempts [ 500, 200 ], but this cannot happen any more");
    expect(error.deliveries).toMatchObject([{ state: "pending" }]);
  });

  it("shows no more than a screenful", async () => {
    const { url } = await startReceiver(() => ({ status: 503, body: "x".repeat(16_000) }));
    const clock = virtualClock();
    const sender = await openSender({ url, clock });
    for (let n = 0; n < 8; n++) {
      await sender.track({ ...USER, event: `Event ${n}` });
    }
    await clock.advance("3h");

    const { message } = await failureOf(sender.expect({ type: "track" }, { within: 0 }).delivered());

    expect(message).toContain("It has 8 deliveries:");
    expect(message).toContain("  and 3 more");
    expect(message).toMatch(/\d+ earlier/u);
    expect(message.split("\n").length).toBeLessThan(70);
    expect(message.length).toBeLessThan(20_000);
  });

  it("points at the line of the test", async () => {
    const { url } = await startReceiver();
    const sender = await openSender({ url });

    const error = await failureOf(sender.expect({ event: "A" }, { within: 0 }).delivered());

    expect(error.stack?.split("\n").find((line) => line.startsWith("    at "))).toContain("expect.test.ts");
  });

  it("is seen before the test's own time is up, in Vitest and Jest as they come", async () => {
    const { url } = await startReceiver();
    const sender = await openSender({ url });
    const ticked = countTicks();

    const error = await failureOf(sender.expect({ event: "A" }).delivered());

    expect(error.message).toContain("within 4000 ms, but this did not happen");
    expect(ticked()).toBeLessThan(5_000);
  });

  it("is a rejection of the sender's own when the sender is closed", async () => {
    const { url } = await startReceiver();
    const sender = await openSender({ url });
    const waiting = sender.expect({ event: "A" }, { within: "1h" }).delivered();
    const failure = waiting.catch((error: unknown) => error);

    await sender.close();

    expect(await failure).toMatchObject({ name: "SenderClosedError" });
  });

  it("leaves no listener and no timer behind", async () => {
    const { url } = await startReceiver();
    const sender = await openSender({ url });
    await sender.track({ ...USER, event: "A" });
    await sender.idle();
    // Those of an expectation only: a store that is a database has others, at any time.
    const timers = { made: 0, open: new Set<number>() };
    const watch = createHook({
      init(id, type) {
        if (type !== "Timeout" || new Error("made").stack?.includes("/expect/changes.") !== true) return;
        timers.made += 1;
        timers.open.add(id);
      },
      destroy: (id) => void timers.open.delete(id),
    }).enable();
    onTestFinished(() => void watch.disable());

    await failureOf(sender.expect({ event: "B" }, { within: 30 }).message());
    const waiting = sender.expect({ event: "C" }).delivered();
    await sender.track({ ...USER, event: "C" });
    await waiting;
    // In these turns, Node tells of those that were ended.
    await nextTurn();
    await nextTurn();

    expect(timers.made).toBeGreaterThan(0);
    expect(timers.open).toEqual(new Set());
  });
});

describe("a mistake in an expectation", () => {
  it.each([null, 42, "Order Completed", true, [], /A/u, Promise.resolve({})])(
    "is a TypeError when it is about %o",
    async (what) => {
      const sender = await openSender({ url: "http://127.0.0.1:9/" });

      // @ts-expect-error -- nothing that could be expected
      expect(() => sender.expect(what)).toThrow("sender.expect() takes an awaited receipt");
    },
  );

  it("is one of the types' when a call is not awaited", async () => {
    const sender = await openSender({ url: "http://127.0.0.1:9/" });
    const call = sender.track({ ...USER, event: "A" });

    // @ts-expect-error -- a promise of a receipt
    expect(() => sender.expect(call)).toThrow(TypeError);
    await call;
  });

  it("is a TypeError when it is about no time or no attempts", async () => {
    const sender = await openSender({ url: "http://127.0.0.1:9/" });

    // @ts-expect-error -- no duration
    expect(() => sender.expect({}, { within: "soon" })).toThrow("sender.expect({ within })");
    await expect(sender.expect().attempts(0)).rejects.toThrow(TypeError);
    await expect(sender.expect().attempts(1.5)).rejects.toThrow(TypeError);
    await expect(sender.expect().attempts([])).rejects.toThrow(TypeError);
    // @ts-expect-error -- no outcome
    void (() => sender.expect().attempts(["succeeded"]));
    // @ts-expect-error -- no message type
    void (() => sender.expect({ type: "order" }));
  });
});

describe("node:test and its assert", () => {
  it("show the failure as it is", async () => {
    const folder = temporaryFolder();
    const file = `${folder}/receiver.test.mjs`;
    await writeFile(
      file,
      `
      import assert from "node:assert/strict";
      import test from "node:test";
      import { createTestSender } from ${JSON.stringify(new URL("../dist/testing.js", import.meta.url))};

      test("takes an order", async (t) => {
        const sender = await createTestSender({ target: (request, response) => response.writeHead(204).end() });
        t.after(() => sender.close());
        await sender.track({ userId: "u1", event: "Order Completed", properties: { total: 12 } });
        const { message } = await sender.expect({ type: "track" }).delivered();
        assert.equal(message.event, "Order Completed");
      });

      test("does not take a page", async (t) => {
        const sender = await createTestSender({ target: (request, response) => response.writeHead(204).end() });
        t.after(() => sender.close());
        await sender.expect({ type: "page" }, { within: 20 }).delivered();
      });
      `,
    );

    const run = promisify(execFile)(process.execPath, ["--test", "--test-reporter=tap", file]);
    const { stdout } = await run.catch((error: { stdout: string }) => error);

    expect(stdout).toMatch(/^\s*ok \d+ - takes an order$/mu);
    expect(stdout).toMatch(/^\s*not ok \d+ - does not take a page$/mu);
    expect(stdout).toContain("expected a message with { type: 'page' } to be delivered");
    expect(stdout).toContain("No message was accepted.");
  });
});
