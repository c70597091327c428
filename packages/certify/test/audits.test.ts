import { audits, certify, type Report } from "@countersign/certify";
import { describe, expect, it } from "vitest";
import { coreReceiver } from "./support/core-receiver.ts";
import { handWrittenReceiver } from "./support/hand-written-receiver.ts";
import { SECRET, serve, type RunningReceiver } from "./support/listen.ts";
import { mutants } from "./support/mutants.ts";

async function certifyAndClose(receiver: RunningReceiver, timeoutMs?: number): Promise<Report> {
  try {
    return await certify({ url: receiver.url, secret: SECRET, timeoutMs });
  } finally {
    await receiver.close();
  }
}

function notPassed({ results }: Report): string[] {
  return results.filter(({ outcome }) => outcome !== "passed").map(({ id }) => id);
}

describe("a right receiver", () => {
  it("made of core passes every audit", async () => {
    const report = await certifyAndClose(await serve(coreReceiver()));
    expect(report.results.filter(({ outcome }) => outcome !== "passed")).toEqual([]);
    expect(report.passed).toBe(true);
    expect(report.results.map(({ id }) => id)).toEqual(audits.map(({ id }) => id));
  });

  it("written by hand passes every audit", async () => {
    expect(notPassed(await certifyAndClose(await handWrittenReceiver()))).toEqual([]);
  });
});

describe("the table", () => {
  it("has an id, a level and a title for each audit, and no id twice", () => {
    const ids = audits.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { id, level, title } of audits) {
      expect(id).toMatch(/^[a-z0-9]+(-[a-z0-9]+)+$/);
      expect(["MUST", "SHOULD"]).toContain(level);
      expect(title).toMatch(/^[A-Z].*[^.]$/);
    }
  });

  it("has a mistake that each audit is there to find", () => {
    const found = [...Object.keys(mutants), "accepts-track"].toSorted();
    expect(found).toEqual(audits.map(({ id }) => id).toSorted());
  });
});

describe.concurrent("a receiver that", () => {
  for (const [id, { what, mutation, also = [], timeoutMs = 8_000 }] of Object.entries(mutants)) {
    it(`${what} fails ${[id, ...also].join(", ")} alone`, async () => {
      const report = await certifyAndClose(await handWrittenReceiver(mutation), timeoutMs);
      expect(notPassed(report).toSorted()).toEqual([id, ...also].toSorted());
    });
  }

  it("knows no track fails accepts-track and whatever else must be accepted", async () => {
    const receiver = await handWrittenReceiver({
      reply: ({ text }, { status }) =>
        status === 204 && text.includes('"track"') ? { status: 400 } : undefined,
    });
    const failed = notPassed(await certifyAndClose(receiver));
    expect(failed).toContain("accepts-track");
    expect(failed.every((id) => /^(accepts|survives|keeps)-/.test(id))).toBe(true);
  });

  it("takes everything fails every audit of forgeries, and of bad requests", async () => {
    const receiver = await handWrittenReceiver({ reply: () => ({ status: 200 }) });
    const failed = notPassed(await certifyAndClose(receiver));
    const refusals = audits.map(({ id }) => id).filter((id) => /^(rejects|answers-4)/.test(id));
    expect(failed).toEqual(refusals);
  });
});
