import { setTimeout as wait } from "node:timers/promises";
import { verifyWebhook, WebhookError } from "@countersign/core";
import type { Bench } from "../harness/bench.ts";
import { alternate } from "../harness/contest.ts";
import { atLeast, atMost, compare, type Row } from "../harness/row.ts";
import { signedMessage, SECRET, type SignedMessage } from "../support/messages.ts";
import { microseconds } from "../support/microseconds.ts";
import { requestOf, TURNS, withReceivers } from "../support/receiver-load.ts";

const CONNECTIONS = 20;
const LOADING_MS = 100;
const SIZES = [
  { bytes: 700, size: "0.7 KB" },
  { bytes: 20_000, size: "20 KB" },
];

/** The same body under a signature of the right form that nobody with the secret has made. */
function forgedMessage(message: SignedMessage): SignedMessage {
  return {
    ...message,
    signature: message.signature.replaceAll(/[0-9a-f]/g, (digit) => (digit === "0" ? "1" : "0")),
  };
}

function expectRefusal({ body, signature }: SignedMessage): void {
  try {
    verifyWebhook({ body, signature, secret: SECRET });
  } catch (error) {
    if (error instanceof WebhookError) return;
    throw error;
  }
  throw new Error("A forged message was accepted.");
}

export const forged: Bench = {
  name: "forged",
  about: "what a forged request costs, against a good one",
  async run({ rounds, progress }) {
    const rows: Row[] = [];
    for (const { bytes, size } of SIZES) {
      progress(`forged, ${size}`);
      const good = signedMessage(bytes);
      const bad = forgedMessage(good);
      // The first forgery loads what makes the others cheap, in a later turn of the event loop.
      expectRefusal(bad);
      await wait(LOADING_MS);
      const inCore = await alternate(
        [
          { name: "forged", measure: () => microseconds(() => expectRefusal(bad)) },
          { name: "good", measure: () => microseconds(() => verifyWebhook({ ...good, secret: SECRET })) },
        ],
        { rounds: rounds(15), warmups: 3 },
      );
      const versus = { against: "a good one", ours: "forged", theirs: "good" };
      rows.push(
        compare(inCore, { ...versus, what: `forged, verifyWebhook, ${size}`, unit: "µs", target: atMost(1) }),
      );
      const express = { framework: "express", contender: "countersign" };
      const receivers = [
        { ...express, name: "forged", request: requestOf(bad, 401) },
        { ...express, name: "good", request: requestOf(good) },
      ];
      const inExpress = await withReceivers(receivers, CONNECTIONS, (loaded) =>
        alternate(loaded, { rounds: rounds(9), ...TURNS }),
      );
      rows.push(
        compare(inExpress, {
          ...versus,
          what: `forged, Express 5, ${size}`,
          unit: "req/s",
          target: atLeast(1),
        }),
      );
    }
    return { rows };
  },
};
