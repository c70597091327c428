import { audits, certify, formatResult } from "@countersign/certify";
import { describe, expect, it } from "vitest";
import { nestWithRawBody, onLambdas, receivers, start } from "./support/receivers.ts";

const SECRET = "the secret of the audited receiver";

const rows = [
  ...[...receivers, ...onLambdas].map((receiver) => ({ ...receiver, impossible: [] })),
  ...nestWithRawBody,
];

// Audits of one receiver run one after another, and mostly wait: the receivers are audited side by side.
describe.concurrent("every audit passes that the receiver is asked about", () => {
  it.each(rows)("$name", async ({ impossible, ...receiver }) => {
    const running = await start(receiver, { secret: SECRET });
    try {
      const report = await certify({ url: running.url, secret: SECRET });
      const others = report.results.filter(({ outcome }) => outcome !== "passed");
      const unexpected = others.filter(({ id }) => !impossible.includes(id));
      expect(unexpected.map((result) => formatResult(result))).toEqual([]);
      expect(others.map(({ id }) => id).toSorted()).toEqual([...impossible].toSorted());
      expect(report.results).toHaveLength(audits.length);
    } finally {
      await running.close();
    }
  });
});
