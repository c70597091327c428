import { describe, expect, it } from "vitest";
import { duration, exactTime, plural, visible } from "../../src/words/format.ts";
import { percentile } from "../../src/words/percentile.ts";
import { attemptVerdict, resendVerdict, stateVerdict } from "../../src/words/words.ts";
import { asVitest } from "../../src/screens/delivery/as-test.ts";
import type { DeliveryDetail } from "../../src/shapes/types.ts";

const FORGED = {
  endpoint: "http://a/",
  outcome: "success",
  answer: "200",
  status: 200,
  fault: "bad_signature",
} as const;

describe("verdicts", () => {
  it("make a forgery that was accepted the loudest, also where the state is delivered", () => {
    expect(stateVerdict("delivered", FORGED, true).tone).toBe("loud");
    expect(attemptVerdict(FORGED, true)).toEqual({ tone: "loud", word: "200: ACCEPTED A FORGERY" });
  });

  it("make a forgery that was refused green, though the delivery has failed", () => {
    const refused = { ...FORGED, outcome: "rejected", answer: "401", status: 401 } as const;
    expect(stateVerdict("failed", refused, true).tone).toBe("good");
    expect(attemptVerdict(refused, true).word).toBe("rejected: 401, as it should be");
  });

  it("blame no receiver for a forgery where there is no secret", () => {
    expect(stateVerdict("delivered", FORGED, false).tone).toBe("good");
  });

  it("have a sign of their own for each state, since the colour alone is not seen by everybody", () => {
    const failed = { endpoint: "http://a/", outcome: "server_error", answer: "503", status: 503 } as const;
    const states = [
      stateVerdict("pending", undefined, true),
      stateVerdict("pending", failed, true),
      stateVerdict("delivered", undefined, true),
      stateVerdict("failed", undefined, true),
      stateVerdict("expired", failed, true),
    ];
    // Nothing is retried at a destination that is disabled.
    expect(stateVerdict("pending", failed, true, false).word).toBe("waiting");
    const signs = states.map(({ tone, sign = tone }) => sign);
    expect(signs).toEqual(["wait", "retry", "good", "bad", "late"]);
    // That of a warning, such as “not signed”, is not that of a retry.
    expect(signs).not.toContain("warn");
    expect(attemptVerdict(failed, true)).toEqual({ tone: "warn", sign: "retry", word: "503" });
    expect(attemptVerdict({ ...failed, outcome: "rejected" }, true)).toEqual({ tone: "bad", word: "503" });
  });

  it.each([
    ["failed", "delivered", "fixed"],
    ["expired", "failed", "still failing"],
    ["delivered", "failed", "broken now"],
    ["delivered", "delivered", "still delivered"],
  ] as const)("say of a resend from %s to %s: %s", (before, after, word) => {
    expect(resendVerdict(before, after)?.word).toBe(word);
  });

  it("say nothing of a resend that has not ended", () => {
    expect(resendVerdict("failed", "pending")).toBeUndefined();
  });
});

describe("numbers and times", () => {
  it.each([
    [3.44, "3.4 ms"],
    [999, "999 ms"],
    [999.6, "1 s"],
    [4_200, "4.2 s"],
    [59_600, "1 min"],
    [3_600_000 * 3 + 300_000, "3 h 5 min"],
    [-5, "0 s"],
  ])("write %d ms as %s", (ms, text) => expect(duration(ms)).toBe(text));

  it("have a plural", () => {
    expect([plural(1, "delivery"), plural(2, "delivery"), plural(1_200, "row")]).toEqual([
      "1 delivery",
      "2 deliveries",
      "1,200 rows",
    ]);
  });

  it("show milliseconds", () =>
    expect(exactTime(new Date(2026, 0, 2, 3, 4, 5, 6).getTime())).toBe("2 Jan 03:04:05.006"));

  it("give percentiles of a histogram, and infinity beyond the limit", () => {
    const bounds = [10, 100, 5_000];
    expect(percentile(bounds, [50, 45, 4], 1, 0.5)).toBe(10);
    expect(percentile(bounds, [50, 45, 4], 1, 0.95)).toBe(100);
    expect(percentile(bounds, [0, 0, 0], 3, 0.5)).toBe(Number.POSITIVE_INFINITY);
    expect(percentile(bounds, [0, 0, 0], 0, 0.5)).toBeUndefined();
  });
});

describe("text of others", () => {
  it("shows what would reorder or hide it", () => {
    expect(visible("a\u202Egnp.exe\u200B\u0000")).toBe("a⟨U+202E⟩gnp.exe⟨U+200B⟩⟨U+0000⟩");
    expect(visible("a\tb\nc")).toBe("a\tb\nc");
  });

  it("is not torn apart where a joiner belongs to it: in emoji, and in Persian and Hindi", () => {
    for (const text of ["👩🏽\u200D💻", "🏳️\u200D🌈", "می\u200Cخواهم", "क्\u200Dष"])
      expect(visible(text)).toBe(text);
    expect(visible("pay\u200Dpal \u200C👩\u200D\u200D")).toBe("pay⟨U+200D⟩pal ⟨U+200C⟩👩\u200D⟨U+200D⟩");
  });

  it("stays a text in the test that is copied", () => {
    const body = '{"a":"`${process.exit()}` \u2028 \u202E"}';
    const delivery = { type: "track", event: '"); process.exit(); ("', id: "d", body } as DeliveryDetail;
    const test = asVitest(delivery);
    expect(test).not.toMatch(/[\u2028\u202E]/);
    const literal = /const body = (".*");/.exec(test)?.[1] ?? "";
    expect(JSON.parse(literal)).toBe(body);
    expect(test).toContain(String.raw`\"); process.exit(); (\"`);
  });
});
