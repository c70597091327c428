import { formatResult, formatSummary, toJUnit, type AuditResult, type Report } from "@countersign/certify";
import * as fc from "fast-check";
import { XMLParser, XMLValidator } from "fast-xml-parser";
import { describe, expect, it } from "vitest";

const FAILURE = {
  cause: "accepted it",
  sent: "a <track> & more",
  expected: "4xx",
  received: '200 OK, body: "\u0000\ud83d"',
  fix: "Refuse it.",
};
const PASSED: AuditResult = {
  id: "accepts-page",
  level: "MUST",
  title: "Takes a page",
  outcome: "passed",
  durationMs: 12,
};
const FAILED: AuditResult = {
  id: "rejects-x",
  level: "MUST",
  title: "Refuses x",
  outcome: "failed",
  durationMs: 8,
  failure: FAILURE,
};
const rude: AuditResult = { ...FAILED, id: "rejects-y", level: "SHOULD" };
const SKIPPED: AuditResult = {
  id: "survives-z",
  level: "MUST",
  title: "Survives z",
  outcome: "skipped",
  durationMs: 0,
  reason: "gone",
};

const report: Report = {
  url: "http://127.0.0.1:3000/a?b&c",
  passed: false,
  startedAt: "2026-11-21T08:00:00.123Z",
  durationMs: 3_140,
  tally: { MUST: { passed: 1, failed: 1, skipped: 1 }, SHOULD: { passed: 0, failed: 1, skipped: 0 } },
  results: [PASSED, FAILED, rude, SKIPPED],
};

describe("toJUnit", () => {
  it("writes a suite for each level; only a MUST breaks a build", () => {
    const parsed: unknown = new XMLParser({ ignoreAttributes: false, attributeNamePrefix: "" }).parse(
      toJUnit(report),
    );
    expect(parsed).toMatchObject({
      testsuites: {
        tests: "4",
        failures: "1",
        skipped: "2",
        testsuite: [
          {
            name: "MUST http://127.0.0.1:3000/a?b&c",
            timestamp: "2026-11-21T08:00:00",
            tests: "3",
            failures: "1",
            errors: "0",
            skipped: "1",
            time: "0.020",
            testcase: [
              { classname: "certify.MUST", name: "accepts-page: Takes a page", time: "0.012" },
              {
                failure: {
                  type: "MUST",
                  message: 'accepted it: 200 OK, body: "\uFFFD\uFFFD"; expected 4xx',
                  "#text": expect.stringContaining("a <track> & more"),
                },
              },
              { skipped: { message: "gone" } },
            ],
          },
          {
            tests: "1",
            failures: "0",
            skipped: "1",
            testcase: { skipped: { message: expect.stringMatching(/^Not met: accepted it: 200 OK/) } },
          },
        ],
      },
    });
  });

  it("is well-formed XML whatever a receiver says", () => {
    const anything = fc.string({ unit: "binary", maxLength: 200 });
    fc.assert(
      fc.property(anything, anything, (received, reason) => {
        const results: AuditResult[] = [
          { ...FAILED, failure: { ...FAILURE, received } },
          { ...SKIPPED, reason },
        ];
        const xml = toJUnit({ ...report, results });
        expect(XMLValidator.validate(xml)).toBe(true);
        // What XML 1.0 cannot hold at all.
        // oxlint-disable-next-line no-control-regex -- control characters are what it looks for
        expect(xml).not.toMatch(/[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]/);
      }),
    );
  });
});

describe("formatResult", () => {
  it("is one line for what passed; what failed has its cause in the first line, and the details below", () => {
    expect(formatResult(PASSED)).toBe("✓ MUST   Takes a page (accepts-page)");
    expect(formatResult(SKIPPED)).toBe("- MUST   Survives z (survives-z)\n    skipped: gone");
    expect(
      formatResult({ ...rude, failure: { cause: "c", sent: "s", expected: "e", received: "r", fix: "f" } }),
    ).toBe(
      [
        "✗ SHOULD Refuses x (rejects-y): c",
        "    sent:     s",
        "    expected: e",
        "    received: r",
        "    fix:      f",
      ].join("\n"),
    );
  });
});

describe("formatSummary", () => {
  it("counts what was skipped for each reason, and what passed of each level", () => {
    expect(formatSummary(report)).toBe(
      "- 1 audit skipped: gone\nMUST 1 of 3, SHOULD 0 of 1, in 3.1 s: failed",
    );
  });
});
