import type { Bench } from "../harness/bench.ts";
import { alternate } from "../harness/contest.ts";
import { atLeast, compare, type Row, type Target } from "../harness/row.ts";
import { signedMessage } from "../support/messages.ts";
import { requestOf, TURNS, withReceivers } from "../support/receiver-load.ts";

const CONNECTIONS = 20;
const SIZES = [
  { bytes: 700, size: "0.7 KB" },
  { bytes: 20_000, size: "20 KB" },
];

/** What an adapter is compared with, and how well it must do. */
interface Peer {
  readonly contender: string;
  readonly against: string;
  readonly target?: Target;
}

/** The bench of one framework. */
function adapterBench(framework: string, title: string, peers: readonly Peer[]): Bench {
  return {
    name: framework,
    about: `requests a second through the adapter for ${title}, in a process of its own`,
    async run({ rounds, progress }) {
      const rows: Row[] = [];
      for (const { bytes, size } of SIZES) {
        progress(`${title}, ${size}`);
        const request = requestOf(signedMessage(bytes));
        const contenders = ["countersign", ...peers.map(({ contender }) => contender)];
        const receivers = contenders.map((contender) => ({ name: contender, framework, contender, request }));
        const measured = await withReceivers(receivers, CONNECTIONS, (loaded) =>
          alternate(loaded, { rounds: rounds(9), ...TURNS }),
        );
        const what = `${title}, ${size}`;
        const versus = { what, unit: "req/s", ours: "countersign" };
        for (const { contender, against, target } of peers)
          rows.push(compare(measured, { ...versus, against, theirs: contender, ...(target && { target }) }));
      }
      return { rows };
    },
  };
}

function byHand(how: string): readonly Peer[] {
  return [{ contender: "byHand", against: `${how}, by hand`, target: atLeast(0.92) }];
}

export const adapters: readonly Bench[] = [
  adapterBench("express", "Express 5", [
    { contender: "sample", against: "express.json() and the documented sample", target: atLeast(1.25) },
    { contender: "json", against: "express.json() without verification", target: atLeast(1) },
    // What nobody could pass, for comparison.
    { contender: "byHand", against: "raw read, HMAC, JSON.parse, by hand" },
  ]),
  adapterBench("fastify", "Fastify 5", byHand("buffer parser, HMAC, JSON.parse")),
  adapterBench("koa", "Koa 3", byHand("raw read, HMAC, JSON.parse")),
  adapterBench("node", "node:http", byHand("raw read, HMAC, JSON.parse")),
  adapterBench("hono", "Hono on Node", byHand("arrayBuffer(), HMAC, JSON.parse")),
];
