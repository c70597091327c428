import { describe, expect, it } from "vitest";
import { applyEvent, newRow, rowOf } from "../../src/shapes/row.ts";
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
    const listed = rowOf({ ...INFO, state: "pending", attempts: 2, last: attempt(2, "http://a/", 2) });
    const row = newRow(INFO);
    applyEvent(row, told(attempt(1)), false);
    applyEvent(row, told(attempt(2, "http://a/", 2)), false);
    expect(row).toEqual(listed);
  });

  it("counts an attempt once that was listed and is told again", () => {
    const row = rowOf({ ...INFO, state: "pending", attempts: 1, last: attempt(1) });
    applyEvent(row, told(attempt(1)), true);
    expect(row.attempts).toBe(1);
  });

  it("counts the attempts of one round to several endpoints, which begin at the same time", () => {
    const row = newRow(INFO);
    for (const endpoint of ["http://a/", "http://b/", "http://c/"])
      applyEvent(row, told(attempt(1, endpoint)), false);
    expect(row.attempts).toBe(3);
  });

  it("takes over the next attempt also where virtual time stood still since the last one", () => {
    const row = rowOf({ ...INFO, state: "pending", attempts: 1, last: attempt(1) });
    const next: AttemptSummary = { ...attempt(1, "http://a/", 2), outcome: "success", answer: "204" };
    for (const exact of [true, false]) {
      applyEvent(row, told(next), exact);
      expect(row).toMatchObject({ attempts: 2, last: { answer: "204" } });
    }
  });

  it("shows the last answer of several endpoints that accepted it, as the list of the API", () => {
    const row = newRow(INFO);
    for (const [answer, outcome] of [
      ["200", "success"],
      ["204", "success"],
      ["500", "server_error"],
    ] as const)
      applyEvent(row, told({ ...attempt(1, `http://${answer}/`), answer, outcome }), false);
    expect(row).toMatchObject({ attempts: 3, last: { answer: "204" } });
  });

  it("counts both attempts of a message that a fault sends twice, and each once", () => {
    const row = newRow(INFO);
    const twice = [attempt(1), { ...attempt(1), durationMs: 5 }];
    for (const one of twice) applyEvent(row, told(one), false);
    expect(row.attempts).toBe(2);
    const listed = rowOf({ ...INFO, state: "pending", attempts: 2, last: twice[1] as AttemptSummary });
    for (const one of twice) applyEvent(listed, told(one), true);
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
      for (const one of attempts) applyEvent(row, told(one), false);
      expect(row).toMatchObject({ attempts: 2, last: { answer: "200" } });
    }
  });

  it("ends with the event that says so", () => {
    const row = newRow(INFO);
    const at = INFO.acceptedAt;
    applyEvent(row, { id: "r-3", at, event: "failed", delivery: INFO, endedAt: at }, false);
    expect(row.state).toBe("failed");
  });
});
