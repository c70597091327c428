import { execFileSync } from "node:child_process";
import { Analytics, type Receipt } from "@countersign/client";
import { memoryTransport } from "@countersign/client/testing";
import { describe, expect, it } from "vitest";
import { createBench } from "./support/bench.ts";

const USER_ID = "u1";

describe("the log", () => {
  it("speaks the Go library's terms", async () => {
    const lines: string[] = [];
    const { analytics, service, clock } = createBench({ flushAt: 2, log: (line) => lines.push(line) });
    const track = (messageId: string) => analytics.track({ userId: USER_ID, event: "E", messageId });
    const json = (id: string) =>
      `{"type":"track","messageId":"${id}","timestamp":"2026-01-01T00:00:00.000Z","userId":"u1","event":"E"}`;
    track("m1");
    track("m2");
    await clock.advance(0);
    track("m3");
    service.reply({ status: 400, body: "bad" });
    await clock.advance(5_000);
    await analytics.close();
    expect(lines).toEqual([
      `buffer (0/2) ${json("m1")}`,
      `buffer (1/2) ${json("m2")}`,
      "exceeded 2 messages – flushing",
      "response 200",
      `buffer (0/2) ${json("m3")}`,
      "interval reached – flushing 1",
      "response 400 – bad",
      "exit requested – draining msgs",
      "exit requested – flushing 0",
      "exit",
    ]);
  });

  it("may record an event itself: each receipt is that of its own call", async () => {
    const ofLog: Receipt[] = [];
    const log = (line: string): void => {
      const isFirst = line.startsWith("exceeded") && ofLog.length === 0;
      if (isFirst) ofLog.push(analytics.track({ userId: USER_ID, event: "Flushed" }));
    };
    const { analytics, service } = createBench({ log, flushAt: 2 });
    service.replyAlways(({ batch }) =>
      batch.some(({ event }) => event === "Flushed") ? { status: 400 } : {},
    );
    const receipts = [1, 2].map(() => analytics.track({ userId: USER_ID, event: "E" }));
    await analytics.flush();
    expect(receipts.map(({ outcome }) => outcome?.status)).toEqual(["delivered", "delivered"]);
    expect(ofLog.map(({ outcome }) => outcome?.status)).toEqual(["rejected"]);
  });

  it("tells of requests without an answer", async () => {
    const lines: string[] = [];
    const { analytics, service, clock } = createBench({ flushAt: 1, log: (line) => lines.push(line) });
    service.reply(new Error("socket hang up"));
    analytics.track({ userId: USER_ID, event: "E" });
    await clock.advance(1_000);
    expect(lines).toContainEqual(expect.stringMatching(/^error sending request: .*socket hang up/));
  });

  it("never has the write key, and neither has an outcome, whatever the endpoint says", async () => {
    const lines: string[] = [];
    const { analytics, service } = createBench({ log: (line) => lines.push(line) });
    const encoded = Buffer.from("WRITE_KEY:").toString("base64");
    service.reply({ status: 401, body: `No such key: WRITE_KEY (Basic ${encoded})` });
    const receipt = analytics.track({ userId: USER_ID, event: "E", properties: { key: "WRITE_KEY" } });
    await analytics.flush();
    expect(lines.join()).toContain("[write key]");
    expect(`${lines.join()}${JSON.stringify(receipt.outcome)}`).not.toMatch(
      new RegExp(`WRITE_KEY|${encoded}`),
    );
  });

  it("redacts before it cuts, in every form in which the key can occur", async () => {
    const key = 'a long "key" é';
    const forms = {
      plain: key,
      json: JSON.stringify(key).slice(1, -1),
      "in a URL": new URLSearchParams({ key }).toString().slice("key=".length),
      base64: Buffer.from(`${key}:`).toString("base64"),
      "base64 without the colon": Buffer.from(key).toString("base64"),
    };
    for (const [name, form] of Object.entries(forms)) {
      const lines: string[] = [];
      const service = memoryTransport();
      const analytics = new Analytics(key, {
        transport: service,
        flushAt: 1,
        retry: { minDelay: 1, maxDelay: 1 },
        log: (line) => lines.push(line),
      });
      // The cut would leave the start of the key, which is not recognised any more.
      const body = "x".repeat(200 - Math.floor(form.length / 2)) + form;
      service.reply({ status: 404, body }, { status: 301, headers: { location: form } });
      service.reply(() => new Error(`fetch ${form}`), { status: 401 });
      const receipts = Array.from({ length: 3 }, () =>
        analytics.track({ userId: USER_ID, event: "E", properties: { form } }),
      );
      await analytics.close(2_000);
      const said = `${lines.join("\n")}${JSON.stringify(receipts.map(({ outcome }) => outcome))}`;
      expect([name, said.includes("[write key]")]).toEqual([name, true]);
      expect([name, said.includes(form.slice(0, 6))]).toEqual([name, false]);
    }
  });

  it("carries no character that makes a terminal do something, and neither does an outcome", async () => {
    const lines: string[] = [];
    const { analytics, service } = createBench({ flushAt: 1, log: (line) => lines.push(line) });
    const hostile = "\u001b[2J\r\nfake line\u0007\u009b1m\u202Egnp.exe\u2066\u200f\u2028\u007f";
    service.reply({ status: 404, body: hostile }, { status: 302, headers: { location: "/\u009b1m" } });
    const receipts = [1, 2].map(() => analytics.track({ userId: hostile, event: "E" }));
    await analytics.flush();
    const details = receipts.map(({ outcome }) => (outcome?.status === "rejected" ? outcome.detail : ""));
    const dangerous = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u;
    expect([...lines, ...details].filter((text) => dangerous.test(text))).toEqual([]);
    expect(details.map((detail) => detail.length > 40)).toEqual([true, true]);
    expect(lines.join("\n")).toContain(String.raw`\u001b[2J\u000d\u000afake line`);
    // What is sent is untouched.
    expect(service.requests[0]?.batch[0]?.userId).toBe(hostile);
  });

  it("keeps its words whole where the write key of a test is a part of them", async () => {
    const lines: string[] = [];
    const service = memoryTransport();
    const analytics = new Analytics("a.b*", { transport: service, log: (line) => lines.push(line) });
    const short = new Analytics("n", { transport: service, log: (line) => lines.push(line) });
    service.reply({ status: 401, body: "No such key: a.b*" });
    service.reply({ status: 401, body: "No such key: n" });
    const receipts = [analytics, short].map((client) => client.track({ userId: USER_ID, event: "E" }));
    await analytics.flush();
    await short.flush();
    for (const { outcome } of receipts) {
      expect(JSON.stringify(outcome)).toContain("The endpoint answered 401: No such key: [write key].");
    }
  });
});

describe("DEBUG", () => {
  const script = `
    import { Analytics } from "@countersign/client";
    import { memoryTransport } from "@countersign/client/testing";
    const analytics = new Analytics("SECRET", { transport: memoryTransport(), ids: () => "id" });
    analytics.track({ userId: "SECRET", event: "E" });
    await analytics.close();`;
  const run = (DEBUG: string): string =>
    execFileSync(
      process.execPath,
      ["--input-type=module", "-e", `process.stderr.write = (text) => process.stdout.write(text);${script}`],
      {
        env: { ...process.env, DEBUG },
        cwd: import.meta.dirname,
        encoding: "utf8",
      },
    );

  it("=analytics logs to standard error, without the write key", () => {
    const output = run("analytics");
    expect(output).toMatch(/^analytics buffer \(0\/20\) .*"userId":"\[write key\]"/);
    expect(output).toContain("analytics response 200");
    expect(output).not.toContain("SECRET");
  });

  it.each(["express,analytics", "analytics express"])("=%s too", (value) => {
    expect(run(value)).toContain("analytics buffer");
  });

  it.each(["", "express", "analytics-node"])("=%j logs nothing", (value) => {
    expect(run(value)).toBe("");
  });
});
