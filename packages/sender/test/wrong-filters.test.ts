import type { DeliveryFilter, SkippedFilter } from "@countersign/sender";
import { describe, expect, it } from "vitest";
import { openSender } from "./support/open-sender.ts";

const WRONG: readonly (readonly [object, string])[] = [
  [
    { state: "done" },
    '({ state }) must be one of pending, delivered, failed, expired, or a list of them, not "done".',
  ],
  [
    { state: ["failed", 1] },
    "({ state }) must be one of pending, delivered, failed, expired, or a list of them, not 1.",
  ],
  [{ type: "order" }, "({ type }) must be one of identify, track, page,"],
  [{ outcome: null }, "({ outcome }) must be one of success, server_error,"],
  // Each of the next two once ended the process, or failed in the store.
  [{ source: true }, "({ source }) must be a text, or a list of texts, not a boolean."],
  [{ identity: [true] }, "({ identity }) must be a text, or a list of texts, not a boolean."],
  [{ event: new Set(["a"]) }, "({ event }) must be a text, or a list of texts, not an object."],
  [{ status: "500" }, '({ status }) must be a whole number, or a list of them, not "500".'],
  [{ status: 1.5 }, "({ status }) must be a whole number, or a list of them, not 1.5."],
  [{ q: ["a"] }, "({ q }) must be a text, not an array."],
  [{ since: new Date(0) }, "({ since }) must be milliseconds since 1970, such as Date.now(), not a Date."],
  [{ until: Number.NaN }, "({ until }) must be milliseconds since 1970, such as Date.now(), not NaN."],
  [{ limit: 0 }, "({ limit }) must be a whole number from 1 to 1000, not 0."],
  [{ limit: 1_001 }, "({ limit }) must be a whole number from 1 to 1000, not 1001."],
  [{ after: "yesterday" }, 'after: "yesterday" is not a cursor.'],
  [{ after: 7 }, "({ after }) must be a text, not 7."],
];

async function refusal(reading: Promise<unknown>): Promise<string> {
  const error: unknown = await reading.then(
    () => new Error("it was read"),
    (reason: unknown) => reason,
  );
  return error instanceof TypeError ? error.message : `no TypeError: ${String(error)}`;
}

describe("a wrong value in a filter is a mistake of the program: no store fails of it, and none lists something else", () => {
  it.each(WRONG)("%o", async (filter, message) => {
    const sender = await openSender({ url: "http://127.0.0.1:9/" });
    const states: unknown[] = [];
    sender.on("storeState", (state) => void states.push(state));
    const wrong = filter as DeliveryFilter;
    const isOfPage = "limit" in filter || "after" in filter;
    const readings = [
      sender.deliveries(wrong),
      sender.summaries(wrong),
      sender.count(wrong),
      ...(isOfPage ? [] : [sender.clear(wrong)]),
    ];
    for (const reading of readings) expect(await refusal(reading)).toContain(message);
    expect([states, await sender.count()]).toEqual([[], 0]);
  });

  it("in a filter of what is sent again", async () => {
    const sender = await openSender({ url: "http://127.0.0.1:9/" });
    const filter = { state: "done" } as unknown as DeliveryFilter;
    expect(await refusal(sender.resend({ filter }))).toContain(
      "resend({ filter: { state } }) must be one of ",
    );
  });

  it("in a filter of skipped calls", async () => {
    const sender = await openSender({ url: "http://127.0.0.1:9/" });
    const wrong = [
      { reason: "none" },
      { source: true },
      { q: 1 },
      { since: "2026" },
      { limit: 0 },
      { after: "x" },
    ];
    for (const filter of wrong) {
      expect([filter, await refusal(sender.skipped(filter as unknown as SkippedFilter))]).toEqual([
        filter,
        expect.stringMatching(/^(?:skipped\(\{ \w+ \}\) must be |after: "x" is not a cursor)/u),
      ]);
    }
  });
});
