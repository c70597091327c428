import { sqliteStore } from "@countersign/sender";
import { virtualClock } from "@countersign/sender/testing";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openSender } from "./support/open-sender.ts";
import { startReceiver } from "./support/receiver.ts";
import { silentTransport } from "./support/silent-transport.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

type Behaviour = "success" | "recoverable" | "final";
const BEHAVIOURS: readonly Behaviour[] = ["success", "recoverable", "final"];
const STATUSES: Readonly<Record<Behaviour, number>> = { success: 204, recoverable: 503, final: 404 };

/** Every way that five endpoints can behave: 3^5. */
const combinations: readonly (readonly Behaviour[])[] = Array.from({ length: 3 ** 5 }, (_, number) =>
  Array.from({ length: 5 }, (_, endpoint) => BEHAVIOURS[Math.floor(number / 3 ** endpoint) % 3] ?? "final"),
);

const PATHS = ["0", "1", "2", "3", "4"];

/** Which endpoints were called in each round. */
function roundsOf(attempts: readonly { round: number; endpoint: string }[]): string[] {
  const rounds: string[][] = [];
  for (const { round, endpoint } of attempts) (rounds[round - 1] ??= []).push(endpoint.slice(-1));
  return rounds.map((endpoints) => endpoints.toSorted().join(""));
}

describe("fan-out", () => {
  it(
    "five endpoints, every combination of success, recoverable and final failure",
    { timeout: 120_000 },
    async () => {
      const behaviourOf = new Map<string, readonly Behaviour[]>();
      // What may recover does so in the second round.
      const seen = new Set<string>();
      const receiver = await startReceiver(({ path, message }) => {
        const key = `${String(message["messageId"])} ${path}`;
        const behaviour = behaviourOf.get(String(message["messageId"]))?.[Number(path.slice(1))] ?? "final";
        const isSecond = seen.has(key);
        seen.add(key);
        return { status: behaviour === "recoverable" && isSecond ? 200 : STATUSES[behaviour] };
      });
      const clock = virtualClock();
      const endpoints = PATHS.map((path) => ({ url: receiver.url + path }));
      const sender = await openSender({
        sources: [{ name: "shop", destinations: [{ endpoints }] }],
        clock,
        // Of 1,215 calls none times out, also on a machine that is busy for seconds.
        attemptTimeout: "1m",
      });

      const receipts = await Promise.all(
        combinations.map((combination, index) => {
          const messageId = `combination ${index}`;
          behaviourOf.set(messageId, combination);
          return sender.track({ userId: "u1", event: "Fan-out", messageId });
        }),
      );
      await clock.advance("1m");

      const outcomes = await Promise.all(receipts.map((receipt) => receipt.settled()));
      expect(outcomes).toHaveLength(243);
      for (const [index, [delivery]] of outcomes.entries()) {
        const combination = combinations[index] ?? [];
        const recoverable = PATHS.filter((_, endpoint) => combination[endpoint] === "recoverable").join("");
        const hasSuccess = combination.includes("success");
        const expected = hasSuccess || recoverable === "" ? ["01234"] : ["01234", recoverable];
        const state = hasSuccess || recoverable !== "" ? "delivered" : "failed";
        expect({ combination, rounds: roundsOf(delivery?.attempts ?? []), state: delivery?.state }).toEqual({
          combination,
          rounds: expected,
          state,
        });
      }
    },
  );

  it.each([
    ["before", "/accepts"],
    ["after", "/refuses"],
  ])("a list shows the endpoint that accepted, which answers %s the other", async (_, first) => {
    let answerSecond = (): void => {};
    const hasAnswered = new Promise<void>((resolve) => (answerSecond = resolve));
    const receiver = await startReceiver(async ({ path }) => {
      if (path !== first) await hasAnswered;
      return { status: path === "/accepts" ? 200 : 503 };
    });
    const endpoints = ["accepts", "refuses"].map((path) => ({ url: receiver.url + path }));
    const sender = await openSender({ sources: [{ name: "shop", destinations: [{ endpoints }] }] });
    sender.on("attempt", () => answerSecond());
    const receipt = await sender.track({ userId: "u1", event: "Fan-out" });
    const [delivery] = await receipt.settled();
    expect(delivery?.attempts.map(({ status }) => status)).toEqual([503, 200]);
    expect(await sender.deliveries({ status: 503 })).toEqual([]);
    expect(await sender.deliveries({ status: 200 })).toMatchObject([{ state: "delivered" }]);
  });

  it("a list shows the answer that came last, while none has accepted", async () => {
    let answerSecond = (): void => {};
    const hasAnswered = new Promise<void>((resolve) => (answerSecond = resolve));
    const receiver = await startReceiver(async ({ path }) => {
      if (path === "/404") await hasAnswered;
      return { status: Number(path.slice(1)) };
    });
    const endpoints = ["404", "410"].map((path) => ({ url: receiver.url + path }));
    const sender = await openSender({ sources: [{ name: "shop", destinations: [{ endpoints }] }] });
    sender.on("attempt", () => answerSecond());
    const receipt = await sender.track({ userId: "u1", event: "Fan-out" });
    const [delivery] = await receipt.settled();
    expect(delivery?.attempts.map(({ status }) => status)).toEqual([410, 404]);
    expect(await sender.deliveries({ status: 410 })).toEqual([]);
  });

  it("which endpoints rejected survives a restart", async () => {
    const path = join(temporaryFolder(), "deliveries.db");
    const receiver = await startReceiver(({ path }) => ({ status: path === "/0" ? 410 : 503 }));
    const settings = {
      sources: [
        {
          name: "shop",
          destinations: [{ endpoints: [{ url: `${receiver.url}0` }, { url: `${receiver.url}1` }] }],
        },
      ],
    };
    const clock = virtualClock();
    const first = await openSender({ ...settings, clock, store: sqliteStore({ path }) });
    const receipt = await first.track({ userId: "u1", event: "Signed Up" });
    await clock.advance("1s");
    await first.close();
    expect(receiver.received.map((request) => request.path).toSorted()).toEqual(["/0", "/1"]);

    receiver.answer = () => ({ status: 200 });
    const later = virtualClock(clock.now() + 10_000);
    const second = await openSender({ ...settings, clock: later, store: sqliteStore({ path }) });
    await second.idle();
    const delivery = await second.delivery(receipt.deliveries[0] ?? "");
    expect(delivery?.state).toBe("delivered");
    expect(roundsOf(delivery?.attempts ?? [])).toEqual(["01", "1"]);
    expect(receiver.received.map((request) => request.path)).toHaveLength(3);
    expect(new Set(receiver.received.map(({ body }) => body)).size).toBe(1);
  });

  it("of several endpoints that accept it, the last that answered comes last, as the events tell", async () => {
    const took = new Map([
      ["/0", 30],
      ["/1", 10],
      ["/2", 20],
    ]);
    const sender = await openSender({
      sources: [
        {
          name: "shop",
          destinations: [{ endpoints: [...took.keys()].map((path) => ({ url: `http://a${path}` })) }],
        },
      ],
      transport: {
        send: ({ url }) =>
          Promise.resolve({
            outcome: url.endsWith("2") ? "server_error" : "success",
            status: url.endsWith("2") ? 503 : 204,
            responseBody: new Uint8Array(),
            durationMs: took.get(new URL(url).pathname) ?? 0,
          }),
        close: () => Promise.resolve(),
      },
    });
    const receipt = await sender.track({ userId: "u1", event: "Signed Up" });
    await sender.idle();
    const delivery = await sender.delivery(receipt.deliveries[0] ?? "");
    expect(delivery?.attempts.map(({ endpoint }) => endpoint.slice(-1))).toEqual(["2", "1", "0"]);
  });

  it("an endpoint that asked to be called later is left out of earlier rounds", async () => {
    const receiver = await startReceiver(({ path }) =>
      path === "/0" ? { status: 429, headers: { "Retry-After": "60" } } : { status: 503 },
    );
    const clock = virtualClock();
    const endpoints = [{ url: `${receiver.url}0` }, { url: `${receiver.url}1` }];
    const sender = await openSender({ sources: [{ name: "shop", destinations: [{ endpoints }] }], clock });
    const receipt = await sender.track({ userId: "u1", event: "Signed Up" });
    const start = clock.now();
    await clock.advance("3m");
    const delivery = await sender.delivery(receipt.deliveries[0] ?? "");
    const waited =
      delivery?.attempts
        .filter(({ endpoint }) => endpoint.endsWith("0"))
        .map(({ startedAt }) => startedAt - start) ?? [];
    expect(waited[1]).toBeGreaterThanOrEqual(60_000);
    expect(roundsOf(delivery?.attempts ?? []).slice(0, 3)).toEqual(["01", "1", "1"]);
  });

  it("a message that was accepted while the machine was off for longer than the window is still sent once", async () => {
    const path = join(temporaryFolder(), "deliveries.db");
    const clock = virtualClock();
    const receiver = await startReceiver(() => ({ status: 503 }));
    const first = await openSender({
      url: receiver.url,
      clock,
      store: sqliteStore({ path }),
      transport: silentTransport(),
    });
    const receipt = await first.track({ userId: "u1", event: "Signed Up" });
    await first.close({ deadline: 0 });
    const second = await openSender({
      url: receiver.url,
      clock: virtualClock(clock.now() + 86_400_000),
      store: sqliteStore({ path }),
    });
    await second.idle();
    const delivery = await second.delivery(receipt.deliveries[0] ?? "");
    expect(delivery?.state).toBe("expired");
    expect(receiver.received).toHaveLength(1);
  });
});
