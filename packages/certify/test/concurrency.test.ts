import { setTimeout as delay } from "node:timers/promises";
import { certify, type CertifyOptions, type Report } from "@countersign/certify";
import { describe, expect, it, onTestFinished } from "vitest";
import { handWrittenReceiver, type Mutation } from "./support/hand-written-receiver.ts";
import { SECRET } from "./support/listen.ts";
import { mutants } from "./support/mutants.ts";

/** Some of the audits that run at the same time. */
const ORDINARY = [
  "accepts-track",
  "accepts-page",
  "accepts-screen",
  "accepts-identify",
  "accepts-alias",
  "accepts-group",
];

/** Audits a receiver with a mistake, so many audits at a time. */
async function audit(mutation: Mutation, options: Partial<CertifyOptions>): Promise<Report> {
  const receiver = await handWrittenReceiver(mutation);
  try {
    return await certify({ url: receiver.url, secret: SECRET, ...options });
  } finally {
    await receiver.close();
  }
}

function failedIn({ results }: Report): readonly string[] {
  return results.filter(({ outcome }) => outcome === "failed").map(({ id }) => id);
}

describe("several audits at the same time", () => {
  it("give a right receiver the same report as one after another, in the same order", async () => {
    // It answers a page message only when a screen message has come, too.
    let screenCame: (() => void) | undefined;
    const screen = new Promise<void>((resolve) => (screenCame = resolve));
    const waits: Mutation = {
      async reply({ json }) {
        const { type } = json as { readonly type?: string };
        if (type === "screen") screenCame?.();
        if (type === "page") await screen;
        return undefined;
      },
    };
    const together = await audit(waits, { concurrency: 8, only: ORDINARY });
    const alone = await audit({}, { only: ORDINARY });
    const brief = ({ results }: Report): readonly string[] =>
      results.map(({ id, outcome }) => `${id} ${outcome}`);
    expect(brief(together)).toEqual(brief(alone));
    expect(together.passed).toBe(true);
  });

  it("wait for each other where one sends many requests at once, or judges all that came before", async () => {
    let isAnswering = false;
    const beside: unknown[] = [];
    const watches: Mutation = {
      async reply({ json }) {
        const { type } = json as { readonly type?: string };
        if (isAnswering) beside.push(type);
        if (type !== "page") return undefined;
        isAnswering = true;
        await delay(300);
        isAnswering = false;
        return undefined;
      },
    };
    for (const alone of ["accepts-twenty-at-once", "leaks-no-digest"]) {
      const { results } = await audit(watches, { concurrency: 8, only: ["accepts-page", alone] });
      expect(results).toHaveLength(2);
    }
    expect(beside).toEqual([]);
  });

  it.each([
    "rejects-made-up-signature",
    "accepts-unicode",
    "accepts-page",
    "accepts-numbers",
    "rejects-invalid-json",
  ])("find what %s finds, and only it", async (id) => {
    const { mutation } = mutants[id] ?? {};
    if (mutation === undefined) throw new Error(`no mutant is called ${id}`);
    const report = await audit(mutation, { concurrency: 8 });
    const alone = await audit(mutation, {});
    expect(failedIn(report)).toEqual(failedIn(alone));
    expect(failedIn(report)).toEqual(expect.arrayContaining([id]));
  });

  it("name the audit that made the receiver silent, not those beside it", async () => {
    // It hangs on one message, and what arrives in the meantime has to wait for ever.
    let isHung = false;
    const mutation: Mutation = {
      reply({ text }) {
        isHung ||= /[\u2028\u2029]/.test(text);
        return isHung ? new Promise<never>(() => {}) : undefined;
      },
    };
    const report = await audit(mutation, { concurrency: 8, timeoutMs: 3_000 });
    const reasons = new Set(
      report.results.flatMap((result) => (result.outcome === "skipped" ? [result.reason] : [])),
    );
    expect(
      [...reasons].some(
        (reason) => reason.includes("has not answered since") && reason.includes("accepts-unicode"),
      ),
    ).toBe(true);
    expect(failedIn(report)).toContain("accepts-unicode");
    expect(report.results.some(({ outcome }) => outcome === "passed")).toBe(true);
  });

  it("end where the receiver limits its rate, since each that is left would fail of that", async () => {
    let requests = 0;
    const limits: Mutation = {
      reply() {
        requests += 1;
        return requests > 20 ? { status: 429 } : undefined;
      },
    };
    const report = await audit(limits, { concurrency: 8, timeoutMs: 2_000 });
    const reasons = report.results.flatMap((result) => (result.outcome === "skipped" ? [result.reason] : []));
    expect([...new Set(reasons)]).toEqual([
      expect.stringMatching(/^the receiver has limited its rate \(429\) since /),
    ]);
    expect(failedIn(report).length).toBeLessThanOrEqual(8);
  });

  it("run again one after another where the receiver came back, so that only the right one fails", async () => {
    // One message loses whatever else it is working on at the time.
    const lost = new Set<() => void>();
    const mutation: Mutation = {
      async around(_request, handle) {
        await Promise.race([
          handle(),
          new Promise<never>((_, reject) => lost.add(() => reject(new Error("lost")))),
        ]);
      },
      reply({ text }) {
        if (!/[\u2028\u2029]/.test(text)) return undefined;
        for (const lose of lost) lose();
        return { status: 500 };
      },
    };
    const report = await audit(mutation, { concurrency: 8 });
    expect(failedIn(report)).toEqual(["accepts-unicode"]);
  });

  it("print no warning when more than ten requests listen to one signal", async () => {
    const warnings: string[] = [];
    const hear = (warning: Error): unknown => warnings.push(warning.name);
    process.on("warning", hear);
    onTestFinished(() => void process.off("warning", hear));
    await audit({}, { concurrency: 16, signal: new AbortController().signal });
    expect(warnings).not.toContain("MaxListenersExceededWarning");
  });

  it.each([0, 1.5, "8", Number.NaN])("%j is refused as a number of audits", async (concurrency) => {
    const options = { url: "http://127.0.0.1:9/", secret: SECRET, concurrency } as unknown as CertifyOptions;
    await expect(certify(options)).rejects.toThrow(
      "concurrency must be a whole number of audits, at least 1",
    );
  });
});
