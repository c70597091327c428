import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { ByteBudget, readBody, type ReadBody } from "../../src/ingest/read-body.ts";

const codeOf = (body: ReadBody): string | undefined => (body.ok ? undefined : body.refusal.code);

function ended(...chunks: string[]): PassThrough {
  const stream = new PassThrough();
  for (const chunk of chunks) stream.write(chunk);
  return stream.end();
}

describe("readBody", () => {
  it("gives the bytes of every chunk", async () => {
    const body = await readBody(ended("ab", "", "cd"), 4, new ByteBudget(4));
    expect(body.ok && body.bytes.toString()).toBe("abcd");
  });

  it("keeps bytes and not chunks, since a list of one-byte chunks takes some hundred times its bytes", async () => {
    const stream = new PassThrough({ highWaterMark: 100 });
    const reading = readBody(stream, 10, new ByteBudget(10));
    for (const byte of ["a", "b", "c", "d", "e"]) {
      const chunk = Buffer.from(byte);
      stream.write(chunk);
      await new Promise((resolve) => setImmediate(resolve));
      // The first one is used as it is: most bodies have no other.
      if (byte !== "a") chunk.fill("!");
    }
    stream.end();
    const body = await reading;
    expect(body.ok && body.bytes.toString()).toBe("abcde");
  });

  it("rejects one byte more than allowed, and frees its memory", async () => {
    const budget = new ByteBudget(4);
    expect(codeOf(await readBody(ended("ab", "cde"), 4, budget))).toBe("payload_too_large");
    expect(budget.take(4)).toBe(true);
  });

  it("refuses what all requests together may not hold, until one lets go", async () => {
    const budget = new ByteBudget(6);
    const first = await readBody(ended("abcd"), 4, budget);
    expect(codeOf(await readBody(ended("efgh"), 4, budget))).toBe("overloaded");
    expect(codeOf(await readBody(ended("ef"), 4, budget))).toBeUndefined();
    if (first.ok) first.release();
    expect(codeOf(await readBody(ended("ijkl"), 4, budget))).toBeUndefined();
  });

  it("drops the body that has been arriving the longest, so that slow ones do not block others", async () => {
    let now = 0;
    const budget = new ByteBudget(10, () => now);
    const slow = new PassThrough();
    const reading = readBody(slow, 10, budget);
    slow.write("12345678");
    await new Promise((resolve) => setImmediate(resolve));
    expect(codeOf(await readBody(ended("abcd"), 4, budget))).toBe("overloaded");
    now = 1_000;
    const quick = await readBody(ended("abcd"), 4, budget);
    expect([codeOf(quick), codeOf(await reading)]).toEqual([undefined, "overloaded"]);
    if (quick.ok) quick.release();
    expect(budget.take(10)).toBe(true);
  });

  it("gives all bytes back of a body that had to give up its own room", async () => {
    let now = 0;
    const budget = new ByteBudget(10, () => now);
    const slow = new PassThrough();
    const reading = readBody(slow, 100, budget);
    slow.write("12345678");
    await new Promise((resolve) => setImmediate(resolve));
    now = 5_000;
    slow.write("12345678");
    expect(codeOf(await reading)).toBe("overloaded");
    expect(budget.take(10)).toBe(true);
  });

  it("rejects a body that is cut off, and frees its memory", async () => {
    const budget = new ByteBudget(4);
    const stream = new PassThrough();
    const reading = readBody(stream, 4, budget);
    stream.write("abc");
    stream.destroy();
    expect(codeOf(await reading)).toBe("body_aborted");
    expect(budget.take(4)).toBe(true);
  });

  it("gives up a body that goes on and on, and leaves no listener behind", async () => {
    const stream = new PassThrough();
    const before = stream.eventNames();
    const reading = readBody(stream, 4, new ByteBudget(100));
    for (let n = 0; n < 9; n += 1) stream.write("12345");
    expect(codeOf(await reading)).toBe("payload_too_large");
    expect(stream.eventNames()).toEqual(before);
  });
});
