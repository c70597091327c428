import { describe, expect, it } from "vitest";
import { applyEvent, mergeRow, newRow, rowOf, triesOf } from "../../src/shapes/row.ts";
import type { AttemptSummary, DeliveryInfo, LiveEvent } from "../../src/shapes/types.ts";

const INFO: DeliveryInfo = {
  id: "d",
  messageId: "m",
  type: "track",
  event: "Ordered",
  source: "s",
  destination: "s/d",
  identity: "u",
  acceptedAt: "2026-01-31T12:00:00.000Z",
};

function attempt(second: number, endpoint = "http://a/", round = 1): AttemptSummary {
  const startedAt = `2026-01-31T12:00:0${second}.000Z`;
  return { round, endpoint, startedAt, durationMs: 3, outcome: "server_error", answer: "500", status: 500 };
}

function told(summary: AttemptSummary): LiveEvent {
  return {
    id: "r-1",
    at: summary.startedAt,
    event: "attempt",
    delivery: INFO,
    attempt: { ...summary, response: "" },
  };
}

describe("a row of the list", () => {
  it("is the same whether its attempts were listed or told", () => {
    const listed = rowOf({ ...INFO, state: "pending", last: attempt(2, "http://a/", 2) });
    const row = newRow(INFO);
    applyEvent(row, told(attempt(1)));
    applyEvent(row, told(attempt(2, "http://a/", 2)));
    expect(row).toEqual(listed);
  });

  it("counts a round as one try, at however many endpoints, also where it was listed and is told again", () => {
    const endpoints = ["http://a/", "http://b/", "http://c/"];
    const row = newRow(INFO);
    expect(triesOf(row)).toBe(0);
    for (const round of [1, 2]) {
      for (const endpoint of endpoints) applyEvent(row, told(attempt(1, endpoint, round)));
      expect(triesOf(row)).toBe(round);
    }
    const listed = rowOf({ ...INFO, state: "pending", last: attempt(1, "http://c/", 2) });
    for (const endpoint of endpoints) applyEvent(listed, told(attempt(1, endpoint, 2)));
    expect(listed).toEqual(row);
  });

  it("takes over the next attempt also where virtual time stood still since the last one", () => {
    const row = rowOf({ ...INFO, state: "pending", last: attempt(1) });
    const next: AttemptSummary = { ...attempt(1, "http://a/", 2), outcome: "success", answer: "204" };
    for (const again of [1, 2]) {
      applyEvent(row, told(next));
      expect([again, triesOf(row), row.last?.answer]).toEqual([again, 2, "204"]);
    }
  });

  it("shows the last answer of several endpoints that accepted it, as the list of the API", () => {
    const row = newRow(INFO);
    for (const [answer, outcome] of [
      ["200", "success"],
      ["204", "success"],
      ["500", "server_error"],
    ] as const)
      applyEvent(row, told({ ...attempt(1, `http://${answer}/`), answer, outcome }));
    expect(row).toMatchObject({ last: { answer: "204" } });
  });

  it("shows the last answer to a message that a fault sends twice", () => {
    const row = newRow(INFO);
    const twice = [attempt(1), { ...attempt(1), durationMs: 5 }];
    for (const one of twice) applyEvent(row, told(one));
    expect(row.last?.durationMs).toBe(5);
    const listed = rowOf({ ...INFO, state: "pending", last: twice[1] as AttemptSummary });
    for (const one of twice) applyEvent(listed, told(one));
    expect(listed).toEqual(row);
  });

  it("shows the answer of the endpoint that accepted it, whichever answered last", () => {
    const accepted: AttemptSummary = {
      ...attempt(1, "http://a/"),
      outcome: "success",
      answer: "200",
      status: 200,
    };
    const refused = attempt(1, "http://b/");
    for (const attempts of [
      [accepted, refused],
      [refused, accepted],
    ]) {
      const row = newRow(INFO);
      for (const one of attempts) applyEvent(row, told(one));
      expect(row).toMatchObject({ last: { answer: "200" } });
    }
  });

  it("keeps that one endpoint accepted it where the list was read before, since it showed the answer of the other until a reload", () => {
    const failed = attempt(1, "http://a/");
    const accepted: AttemptSummary = { ...attempt(1, "http://b/"), outcome: "success", answer: "204" };
    const row = newRow(INFO);
    for (const one of [failed, accepted]) applyEvent(row, told(one));
    mergeRow(row, rowOf({ ...INFO, state: "pending", last: failed }));
    expect(row.last?.answer).toBe("204");
    mergeRow(row, rowOf({ ...INFO, state: "pending", last: attempt(2, "http://a/", 2) }));
    expect(triesOf(row)).toBe(2);
  });

  it("ends with the event that says so", () => {
    const row = newRow(INFO);
    const at = INFO.acceptedAt;
    applyEvent(row, { id: "r-3", at, event: "failed", delivery: INFO, endedAt: at });
    expect(row.state).toBe("failed");
  });
});
