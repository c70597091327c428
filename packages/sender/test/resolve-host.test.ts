import type { LookupAddress } from "node:dns";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { passTime } from "../../../tests/support/pass-time.ts";
import { Remembered } from "../dist/transport/remembered.js";
import { oneQuestionPerHost, servingStale, slowNamesLast } from "../dist/transport/resolve-host.js";

type Addresses = readonly LookupAddress[];

const at = (address: string): Addresses => [{ address, family: 4 }];

/** A resolver whose answers the test gives. */
function heldResolver() {
  const asked: { hostname: string; answer(addresses: Addresses): void; fail(code: string): void }[] = [];
  const resolveHost = (hostname: string): Promise<Addresses> =>
    new Promise((resolve, reject) => {
      asked.push({
        hostname,
        answer: resolve,
        fail: (code) => reject(Object.assign(new Error(`getaddrinfo ${code} ${hostname}`), { code })),
      });
    });
  return {
    resolveHost,
    names: () => asked.map(({ hostname }) => hostname),
    /** Takes the question out that has waited longest for this name. */
    take(hostname: string) {
      const index = asked.findIndex((question) => question.hostname === hostname);
      const [question] = asked.splice(index, 1);
      if (index < 0 || question === undefined) throw new Error(`${hostname} was not asked for`);
      return question;
    },
  };
}

describe("names that are slow to resolve", () => {
  it("do not keep others waiting once they are known: they share one of two threads", async () => {
    const held = heldResolver();
    const ask = slowNamesLast(held.resolveHost, 2);
    const hanging = ["a", "b", "c"].map((name) => ask(name).catch(() => {}));
    await nextTurn();
    expect(held.names()).toEqual(["a", "b"]);
    passTime(10_000);
    held.take("a").fail("EAI_AGAIN");
    held.take("b").fail("EAI_AGAIN");
    await vi.waitFor(() => expect(held.names()).toEqual(["c"]));
    passTime(10_000);
    held.take("c").fail("EAI_AGAIN");
    await Promise.all(hanging);

    const again = ["a", "b", "c"].map((name) => ask(name).catch(() => {}));
    const shop = ask("shop");
    await nextTurn();
    expect(held.names()).toEqual(["a", "shop"]);
    held.take("shop").answer(at("10.0.0.1"));
    expect(await shop).toEqual(at("10.0.0.1"));
    // The thread that is free is for names that answer.
    await nextTurn();
    expect(held.names()).toEqual(["a"]);
    held.take("a").answer(at("10.0.0.2"));
    await vi.waitFor(() => expect(held.names()).toEqual(["b"]));
    // It has answered in time, and counts as any other name again.
    const back = ask("a");
    await nextTurn();
    expect(held.names()).toEqual(["b", "a"]);
    held.take("a").answer(at("10.0.0.2"));
    held.take("b").answer(at("10.0.0.3"));
    await vi.waitFor(() => held.take("c").answer(at("10.0.0.4")));
    await Promise.all([...again, back]);
  });

  it("are asked, too, where only one question can run at once", async () => {
    const held = heldResolver();
    const ask = slowNamesLast(held.resolveHost, 1);
    for (const round of [1, 2]) {
      const answer = ask("a");
      await nextTurn();
      passTime(10_000);
      held.take("a").answer(at(`10.0.0.${round}`));
      expect(await answer).toEqual(at(`10.0.0.${round}`));
    }
  });
});

describe("an answer that does not come", () => {
  async function known(waitMs: number) {
    const held = heldResolver();
    const ask = servingStale(held.resolveHost, waitMs);
    const first = ask("shop");
    held.take("shop").answer(at("10.0.0.1"));
    expect(await first).toEqual(at("10.0.0.1"));
    return { held, ask };
  }

  it("is stood in for by the last one, until it comes", async () => {
    const { held, ask } = await known(1);
    expect(await ask("shop")).toEqual(at("10.0.0.1"));
    held.take("shop").answer(at("10.0.0.2"));
    await nextTurn();
    expect(await ask("shop")).toEqual(at("10.0.0.2"));
  });

  it("is waited for where there was none before", async () => {
    const held = heldResolver();
    const answer = servingStale(held.resolveHost, 0)("shop");
    await nextTurn();
    held.take("shop").answer(at("10.0.0.1"));
    expect(await answer).toEqual(at("10.0.0.1"));
  });

  it("is stood in for if the DNS server fails, and not if the name is gone", async () => {
    const { held, ask } = await known(60_000);
    const failing = ask("shop");
    held.take("shop").fail("EAI_AGAIN");
    expect(await failing).toEqual(at("10.0.0.1"));
    const gone = ask("shop");
    held.take("shop").fail("ENOTFOUND");
    await expect(gone).rejects.toThrow("ENOTFOUND");
    const after = ask("shop");
    held.take("shop").fail("EAI_AGAIN");
    await expect(after).rejects.toThrow("EAI_AGAIN");
  });

  it("is stood in for by none that is older than an hour", async () => {
    const { held, ask } = await known(60_000);
    passTime(3_600_001);
    const failing = ask("shop");
    held.take("shop").fail("EAI_AGAIN");
    await expect(failing).rejects.toThrow("EAI_AGAIN");
  });

  it("leaves no timer once it has come, which would keep the process running", async () => {
    const { held, ask } = await known(60_000);
    const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
    const before = timers();
    const answer = ask("shop");
    held.take("shop").answer(at("10.0.0.2"));
    expect(await answer).toEqual(at("10.0.0.2"));
    // One of others can end meanwhile.
    expect(timers()).toBeLessThanOrEqual(before);
  });
});

it("remembers 10,000 hosts, those that were noted last: a customer may think of any number of names", () => {
  const remembered = new Remembered<number>();
  for (let host = 0; host < 10_000; host += 1) remembered.note(`${host}.example`, host);
  remembered.note("0.example", 10_000);
  remembered.note("one-more.example", 10_001);
  const known = ["0.example", "1.example", "2.example", "one-more.example"];
  expect(known.map((host) => remembered.get(host))).toEqual([10_000, undefined, 2, 10_001]);
});

it("asks once for all who wait for a name", async () => {
  const held = heldResolver();
  const ask = oneQuestionPerHost(held.resolveHost);
  const answers = [ask("shop"), ask("shop")];
  await nextTurn();
  expect(held.names()).toEqual(["shop"]);
  held.take("shop").answer(at("10.0.0.1"));
  expect(await Promise.all(answers)).toEqual([at("10.0.0.1"), at("10.0.0.1")]);
});
