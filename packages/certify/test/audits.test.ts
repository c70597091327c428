import { audits, certify, type Report } from "@countersign/certify";
import { defineEvents, sign } from "@countersign/core";
import { sampleMessages } from "@countersign/core/testing";
import { describe, expect, it, vi } from "vitest";
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

describe("a correct receiver", () => {
  it("made of core passes every audit", async () => {
    const report = await certifyAndClose(await serve(coreReceiver()));
    expect(report.results.filter(({ outcome }) => outcome !== "passed")).toEqual([]);
    expect(report.passed).toBe(true);
    expect(report.results.map(({ id }) => id)).toEqual(audits.map(({ id }) => id));
  });

  it("with a schema for an event of its own, such as that of core's samples, passes every audit", async () => {
    const { event } = sampleMessages.track;
    const validate = vi.fn<() => { issues: { message: string }[] }>(() => ({
      issues: [{ message: "not ours" }],
    }));
    const schema = { "~standard": { version: 1 as const, vendor: "test", validate } };
    const receiver = coreReceiver({ events: defineEvents({ [event]: schema }) });
    expect(notPassed(await certifyAndClose(await serve(receiver)))).toEqual([]);
    expect(validate).not.toHaveBeenCalled();
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

// Some of them run at the same time, and each takes as long as all of those.
describe.concurrent("a receiver that", { timeout: 90_000 }, () => {
  for (const [id, { what, mutation, also = [], timeoutMs = 8_000 }] of Object.entries(mutants)) {
    it(`${what} fails only ${[id, ...also].join(", ")}, and what needs it is skipped`, async () => {
      const report = await certifyAndClose(await handWrittenReceiver(mutation), timeoutMs);
      const dependants = audits.filter(({ needs = [] }) => needs.includes(id)).map((audit) => audit.id);
      expect(notPassed(report).toSorted()).toEqual([...new Set([id, ...also, ...dependants])].toSorted());
      for (const result of report.results.filter((audited) => dependants.includes(audited.id))) {
        expect(result).toMatchObject({
          outcome: "skipped",
          reason: expect.stringContaining(`${id} failed: `),
        });
      }
    });
  }

  it.each([
    ["the first 20 digits of the signature, for its 20 bytes", (signature: string) => signature.slice(0, 20)],
    ["the last digits of the signature", (signature: string) => signature.slice(-8)],
    ["the signature as a number", (signature: string) => String(Number(`0x${signature}`))],
  ])("compares %s fails only rejects-partial-signature", async (_, part) => {
    const receiver = await handWrittenReceiver({
      reply: ({ signature = "", text }, { status }) =>
        status === 401 && /^[0-9a-f]{40}$/.test(signature) && part(signature) === part(sign(text, SECRET))
          ? { status: 204 }
          : undefined,
    });
    expect(notPassed(await certifyAndClose(receiver))).toEqual(["rejects-partial-signature"]);
  });

  it("knows no track fails only accepts-track, with the cause; what must be accepted is skipped", async () => {
    const receiver = await handWrittenReceiver({
      reply: ({ text }, { status }) =>
        status === 204 && text.includes('"track"') ? { status: 400 } : undefined,
    });
    const { results } = await certifyAndClose(receiver);
    const failed = results.filter(({ outcome }) => outcome === "failed");
    const skipped = results.filter(({ outcome }) => outcome === "skipped");
    const cause = "it accepts identify messages, and no track messages";
    expect(failed).toMatchObject([{ id: "accepts-track", failure: { cause } }]);
    expect(new Set(skipped.map((result) => "reason" in result && result.reason))).toEqual(
      new Set([`accepts-track failed: ${cause}`]),
    );
    expect(skipped.map(({ id }) => id)).toEqual(
      audits.filter(({ needs = [] }) => needs.includes("accepts-track")).map(({ id }) => id),
    );
  });

  it("takes everything fails every audit of forgeries, and of bad requests", async () => {
    const receiver = await handWrittenReceiver({ reply: () => ({ status: 200 }) });
    const failed = notPassed(await certifyAndClose(receiver));
    const refusals = audits.map(({ id }) => id).filter((id) => /^(rejects|answers-4)/.test(id));
    expect(failed).toEqual(refusals);
  });
});
