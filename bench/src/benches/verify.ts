import type { Bench } from "../harness/bench.ts";
import { alternate } from "../harness/contest.ts";
import { atMost, compare, type Row } from "../harness/row.ts";
import { signedMessage } from "../support/messages.ts";
import { LIMIT, OCTOKIT, SAMPLE, STANDARD_WEBHOOKS, STRIPE, verifiers } from "../support/verifiers.ts";

const ALL_PEERS = [SAMPLE, STANDARD_WEBHOOKS, STRIPE, OCTOKIT];

/** Bytes of the body, how close to the limit we must come, and the peers that we must not be slower than. */
const SIZES = [
  { bytes: 300, size: "0.3 KB", limit: 1.25, fasterThan: ALL_PEERS },
  { bytes: 1_000, size: "1 KB", limit: 1.2, fasterThan: ALL_PEERS },
  { bytes: 32_768, size: "32 KB", limit: 1.08, fasterThan: [SAMPLE, STANDARD_WEBHOOKS] },
];

export const verify: Bench = {
  name: "verify",
  about: "verifyWebhook of core: the time of a message, against the limit and other verifiers",
  async run({ rounds, progress }) {
    const rows: Row[] = [];
    for (const { bytes, size, limit, fasterThan } of SIZES) {
      progress(`verifyWebhook, ${size}`);
      const measured = await alternate(verifiers(signedMessage(bytes)), { rounds: rounds(15), warmups: 8 });
      const versus = { what: `verifyWebhook, ${size}`, unit: "µs", ours: "verifyWebhook" };
      rows.push(compare(measured, { ...versus, against: LIMIT, theirs: LIMIT, target: atMost(limit) }));
      for (const peer of ALL_PEERS) {
        const target = fasterThan.includes(peer) ? { target: atMost(1) } : {};
        rows.push(compare(measured, { ...versus, against: peer, theirs: peer, ...target }));
      }
    }
    return { rows };
  },
};
