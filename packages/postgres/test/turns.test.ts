import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { PostgresPool } from "../src/database/postgres-pool.ts";
import { Turns } from "../src/database/turns.ts";

const noneLeft = Object.assign(new Error("too many connections"), { code: "53300", severity: "FATAL" });

it("a connection that was given back while the database refused another one is taken, since nobody would give one back later", async () => {
  const turns = new Turns({ connect: () => Promise.reject(noneLeft) });
  const soon = performance.now() + 60_000;
  expect(await turns.take(async () => "first", soon)).toBe("first");
  let refuse: ((error: Error) => void) | undefined;
  const answers = [new Promise<string>((_, reject) => (refuse = reject)), Promise.resolve("given back")];
  const second = turns.take(() => answers.shift() as Promise<string>, soon);
  turns.giveBack();
  refuse?.(noneLeft);
  expect(await second).toBe("given back");
});

it("who waits for nothing is refused, and so are those behind", async () => {
  const turns = new Turns({ connect: () => Promise.reject(noneLeft) });
  const take = () => turns.take(() => Promise.reject<string>(noneLeft), performance.now() + 60_000);
  for (const { status } of await Promise.allSettled([take(), take(), take()]))
    expect(status).toBe("rejected");
});

it("those whose time is over are not woken in place of who waits behind", async () => {
  const turns = new Turns({ connect: () => Promise.reject(noneLeft) });
  const take = (connect: () => Promise<string>, ms: number) => turns.take(connect, performance.now() + ms);
  await take(async () => "first", 60_000);
  const late = [1, 2].map(() => take(() => Promise.reject(noneLeft), 1));
  for (const { status } of await Promise.allSettled(late)) expect(status).toBe("rejected");
  const answers = [Promise.reject<string>(noneLeft), Promise.resolve("given back")];
  const third = take(() => answers.shift() ?? Promise.reject(noneLeft), 60_000);
  // It is refused, and waits.
  await nextTurn();
  turns.giveBack();
  expect(await third).toBe("given back");
});

describe("where the database has fewer connections than are asked for", () => {
  /** Two who have a connection each, and those who ask for another: each is refused so often before it gets one. */
  async function busy(pool: Partial<PostgresPool> = {}) {
    const turns = new Turns({ connect: () => Promise.reject(noneLeft), ...pool });
    const got: string[] = [];
    const take = (name: string, refusals: number): Promise<void> => {
      let left = refusals;
      const connect = (): Promise<string> => {
        left -= 1;
        return left < 0 ? Promise.resolve(name) : Promise.reject(noneLeft);
      };
      return turns.take(connect, performance.now() + 60_000).then((who) => void got.push(who));
    };
    await take("a", 0);
    await take("b", 0);
    const giveBack = async (): Promise<void> => {
      turns.giveBack();
      await nextTurn();
    };
    return { turns, got, take, giveBack };
  }

  it("who was refused twice is the first again, before those who came meanwhile", async () => {
    const { turns, got, take, giveBack } = await busy();
    const first = take("first", 2);
    await nextTurn();
    turns.giveBack();
    const second = take("second", 0);
    await nextTurn();
    expect(got).toEqual(["a", "b"]);
    await giveBack();
    await Promise.all([first, second]);
    expect(got).toEqual(["a", "b", "first", "second"]);
  });

  it("who is woken is not overtaken by who comes in the same turn", async () => {
    const { turns, got, take } = await busy();
    const first = take("first", 1);
    await nextTurn();
    turns.giveBack();
    const second = take("second", 0);
    await first;
    expect(got).toEqual(["a", "b", "first"]);
    turns.giveBack();
    await second;
  });

  it("nobody waits once all have one, though some were refused often", async () => {
    const { got, take, giveBack } = await busy();
    const first = take("first", 2);
    await nextTurn();
    await giveBack();
    await giveBack();
    await first;
    await giveBack();
    const later = take("later", 0);
    await nextTurn();
    expect(got).toEqual(["a", "b", "first", "later"]);
    await later;
  });

  it("a connection that the pool has is taken at once, although others are in use", async () => {
    const { got, take } = await busy({ idleCount: 1 });
    const first = take("first", 1);
    await nextTurn();
    expect(got).toEqual(["a", "b", "first"]);
    await first;
  });

  it("one more asks for a connection when one is given back, once a second: the database may have more again", async () => {
    const { got, take, giveBack } = await busy();
    const first = take("first", 1);
    await nextTurn();
    const others = ["second", "third", "fourth"].map((name) => take(name, 0));
    await giveBack();
    expect(got).toEqual(["a", "b", "first", "second"]);
    await giveBack();
    expect(got).toEqual(["a", "b", "first", "second", "third"]);
    await Promise.all([first, giveBack(), ...others]);
  });
});
