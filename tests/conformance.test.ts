import { audits, certify, formatResult } from "@countersign/certify";
import { describe, expect, it } from "vitest";
import { receivers, start } from "./support/receivers.ts";

const SECRET = "the secret of the audited receiver";

// Audits of one receiver run one after another, and mostly wait: the receivers are audited side by side.
describe.concurrent("every audit passes", () => {
  it.each(receivers)("$name", async (receiver) => {
    const running = await start(receiver, { secret: SECRET });
    try {
      const report = await certify({ url: running.url, secret: SECRET });
      const others = report.results.filter(({ outcome }) => outcome !== "passed");
      expect(others.map((result) => formatResult(result))).toEqual([]);
      expect(report.results).toHaveLength(audits.length);
    } finally {
      await running.close();
    }
  });
});
