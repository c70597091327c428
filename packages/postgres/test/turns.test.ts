import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it } from "vitest";
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
