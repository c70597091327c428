import { readFileSync } from "node:fs";
import type { AttemptEventJson, DeliveryJson, LiveEvent } from "@countersign/server";
import { createColors } from "picocolors";
import { expect, it, vi } from "vitest";
import { Reporter, type ReporterOptions } from "../../src/watch/reporter.ts";
import { sumsLine } from "../../src/watch/sums.ts";

const guide = readFileSync(new URL("../../../../docs/cli.md", import.meta.url), "utf8");
/** The lines that docs/cli.md shows of a longer session. */
const [SESSION = "", SUMS = ""] = [
  ...guide.matchAll(/^<!-- from a longer session -->\n\n```text\n([^]*?)\n```$/gm),
].map(([, text]) => text ?? "");

/** A time of the session, in this place's time zone, which the lines have. */
function at(time: string): string {
  return new Date(`2026-01-31T${time}`).toISOString();
}

function deliveryOf(shortId: string, event: string, acceptedAt: string): DeliveryJson {
  return {
    id: `00000000-0000-4000-8000-00000000${shortId}`,
    messageId: `message-${shortId}`,
    type: "track",
    event,
    source: "default",
    destination: "default/webhooks",
    identity: "u-1004",
    acceptedAt: at(acceptedAt),
  };
}

type Ending = Pick<AttemptEventJson, "durationMs" | "outcome" | "status"> & Partial<AttemptEventJson>;

function attempted(time: string, delivery: DeliveryJson, ending: Ending): LiveEvent {
  const place = { round: 1, endpoint: "http://localhost:3000/webhooks", startedAt: at(time), response: "" };
  const attempt = { ...place, answer: String(ending.status), ...ending } as AttemptEventJson;
  return { id: "", at: at(time), event: "attempt", delivery, attempt };
}

function ended(time: string, delivery: DeliveryJson, state: "failed" | "delivered"): LiveEvent {
  return { id: "", at: at(time), event: state, delivery, state, endedAt: at(time) };
}

/** A reporter, and the lines that it prints. */
function reporterOf(options: Partial<ReporterOptions> = {}): {
  readonly reporter: Reporter;
  readonly lines: readonly string[];
} {
  const lines: string[] = [];
  const reporter = new Reporter({
    print: (line) => lines.push(line),
    colors: createColors(false),
    columns: () => undefined,
    contextOf: () => ({ several: false, budgetMs: 5_000 }),
    retryWindowMs: () => 4 * 3_600_000,
    ...options,
  });
  return { reporter, lines };
}

it("the lines that docs/cli.md shows of a longer session are those that such a session prints", async () => {
  const { reporter, lines } = reporterOf();
  const report = (...events: readonly LiveEvent[]): void => events.forEach((event) => reporter.report(event));
  const ordered = deliveryOf("51c0", "Ordered", "17:24:02");
  const boom = deliveryOf("a8f3", "Boom", "17:24:02");
  const slow = deliveryOf("77d1", "Slow", "17:24:09");
  const refused = deliveryOf("0b3e", "Forged", "17:24:20");
  const accepted = deliveryOf("9e42", "Forged", "17:24:31");
  const failure = { outcome: "server_error", status: 500, durationMs: 4, round: 2 } as const;
  const response = JSON.stringify({ detail: "The database is not there." });
  const pending = { state: "pending", dueAt: at("17:24:15"), delayMs: 9_000 } as const;
  report(
    attempted("17:24:02", ordered, { outcome: "success", status: 204, durationMs: 4 }),
    attempted("17:24:06", boom, { ...failure, response }),
    { id: "", at: at("17:24:06"), event: "retrying", delivery: boom, ...pending },
    { id: "", at: at("17:24:09"), event: "accepted", delivery: slow },
  );
  await vi.waitFor(() => expect(lines.at(-1)).toContain("no answer yet"), { timeout: 30_000 });
  report(
    attempted("17:24:13", slow, { outcome: "success", status: 204, durationMs: 4_200 }),
    attempted("17:24:20", refused, {
      outcome: "rejected",
      status: 401,
      durationMs: 3,
      fault: "bad_signature",
    }),
    ended("17:24:20", refused, "failed"),
    attempted("17:24:31", accepted, {
      outcome: "success",
      status: 204,
      durationMs: 3,
      fault: "bad_signature",
    }),
    ended("17:24:31", accepted, "delivered"),
  );
  reporter.close();
  expect(lines.join("\n")).toBe(SESSION);
});

it("with failures only, and among too many lines, a store that is up says what is to be done all the same", () => {
  const { reporter, lines } = reporterOf({ onlyFailures: true });
  const store = { id: "", at: at("17:24:02"), event: "store", state: "up" } as const;
  for (let count = 0; count < 51; count += 1)
    reporter.report({ ...store, reason: `No process delivers: ${count}.` });
  reporter.report(store);
  reporter.close();
  expect(lines).toHaveLength(51);
  expect(lines.at(-1)).toMatch(/ up: No process delivers: 50\.$/);
});

it("what is more than a person can read is summed up, by the clock of what happened, and one of a kind is no plural", () => {
  const { reporter, lines } = reporterOf();
  const advanced = { id: "", at: at("17:24:02"), event: "clock", advancedMs: 1_000 } as LiveEvent;
  for (let count = 0; count < 51; count += 1) reporter.report(advanced);
  reporter.close();
  expect(lines).toHaveLength(51);
  expect(lines.at(-1)).toMatch(/^17:24:02 +1 notice +\(more than 50 lines a second/);
});

it("an endpoint that fails, and answers again, is told with its destination: several can have the same URL", () => {
  const { reporter, lines } = reporterOf();
  const last = { round: 5, endpoint: "http://a/", startedAt: "", durationMs: 1 } as AttemptEventJson;
  const place = {
    id: "",
    at: at("17:24:02"),
    endpoint: "http://a/",
    failures: 5,
    since: at("17:24:02"),
    last,
  };
  for (const destination of ["shop/orders", "shop/mail"])
    for (const event of ["failing", "recovered"] as const) reporter.report({ ...place, event, destination });
  reporter.close();
  expect(lines).toEqual([
    "17:24:02 failing   http://a/ (shop/orders): 5 attempts in a row have failed",
    "17:24:02 recovered http://a/ (shop/orders): it accepted a message after 5 failed attempts",
    "17:24:02 failing   http://a/ (shop/mail): 5 attempts in a row have failed",
    "17:24:02 recovered http://a/ (shop/mail): it accepted a message after 5 failed attempts",
  ]);
});

it("the totals that docs/cli.md shows of a longer session are those of such a session", () => {
  const sums = {
    accepted: 18,
    delivered: 13,
    failed: 2,
    expired: 0,
    forgeriesRefused: 0,
    forgeriesAccepted: [],
  };
  expect(sumsLine(sums, 3, { kept: undefined })).toBe(SUMS);
});

it("the sums name what has happened once, and leave out what has not", () => {
  const none = {
    accepted: 0,
    delivered: 0,
    failed: 0,
    expired: 0,
    forgeriesRefused: 0,
    forgeriesAccepted: [],
  };
  const once = { ...none, accepted: 1, delivered: 1, failed: 1, expired: 1, forgeriesRefused: 1 };
  expect(sumsLine(none, 0, { kept: undefined })).toBe("0 accepted, 0 delivered");
  expect(sumsLine(once, 1, { kept: "data" })).toBe(
    "1 accepted, 1 delivered, 1 failed, 1 expired, 1 forgery rejected, 1 waiting (kept in data)",
  );
  expect(sumsLine({ ...none, forgeriesRefused: 2 }, undefined, { kept: undefined })).toBe(
    "0 accepted, 0 delivered, 2 forgeries rejected, an unknown number waiting (gone: no --data)",
  );
});

it("the sums of a server that only accepts do not say that nothing was delivered: workers did", () => {
  const sums = {
    accepted: 171,
    delivered: 0,
    failed: 0,
    expired: 0,
    forgeriesRefused: 0,
    forgeriesAccepted: [],
  };
  const store = { kept: "127.0.0.1:5432/countersign", delivers: false };
  expect(sumsLine(sums, 0, store)).toBe("171 accepted");
  expect(sumsLine(sums, 3, store)).toBe("171 accepted, 3 waiting (kept in 127.0.0.1:5432/countersign)");
});
