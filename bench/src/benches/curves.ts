import { join } from "node:path";
import type { Bench, BenchContext } from "../harness/bench.ts";
import { alternate, ratiosOf, valuesOf } from "../harness/contest.ts";
import type { Chart } from "../harness/line-chart.ts";
import { median } from "../harness/statistics.ts";
import { pile, withBacklog } from "../support/backlog.ts";
import { startChild, withChildren } from "../support/child.ts";
import { forwarding, openSender } from "../support/forwarders.ts";
import { signedMessage } from "../support/messages.ts";
import { requestOf, TURNS, withReceivers } from "../support/receiver-load.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";
import { LIMIT, SAMPLE, verifiers } from "../support/verifiers.ts";

const BODY_BYTES = [300, 1_000, 3_000, 10_000, 32_000, 100_000, 300_000, 1_000_000];
const CONNECTIONS = [1, 5, 20, 50, 100, 200, 500];
const ENDPOINTS = [1, 2, 3, 4, 5];
const FAILURE_SHARES = [0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5];
const BACKLOGS = [10, 100, 1_000, 10_000, 100_000, 1_000_000];
const MESSAGES = 3_000;

type Points = (readonly [x: number, y: number])[];

/** A bench that draws one chart. */
function curve(
  name: string,
  about: string,
  draw: (context: BenchContext) => Promise<Omit<Chart, "name">>,
): Bench {
  return {
    name: `curve-${name}`,
    about,
    kind: "curve",
    run: async (context) => ({ rows: [], charts: [{ name, ...(await draw(context)) }] }),
  };
}

async function drawBodySize({ rounds, progress }: BenchContext): Promise<Omit<Chart, "name">> {
  const [ours, sample]: [Points, Points] = [[], []];
  for (const bytes of BODY_BYTES) {
    progress(`verifyWebhook, ${bytes} bytes`);
    const contenders = verifiers(signedMessage(bytes)).filter(({ name }) =>
      ["verifyWebhook", LIMIT, SAMPLE].includes(name),
    );
    const measured = await alternate(contenders, { rounds: rounds(7), warmups: 2 });
    ours.push([bytes, median(ratiosOf(measured, "verifyWebhook", LIMIT))]);
    sample.push([bytes, median(ratiosOf(measured, SAMPLE, LIMIT))]);
  }
  return {
    title: "verifyWebhook by the size of the body",
    x: { label: "bytes of the body", scale: "log" },
    y: { label: "times the CPU time of hashing and parsing" },
    series: [
      { name: "verifyWebhook", points: ours },
      { name: SAMPLE, points: sample },
    ],
  };
}

async function drawConnections({ rounds, progress }: BenchContext): Promise<Omit<Chart, "name">> {
  const contenders = [
    { name: "verifyWebhook()", contender: "countersign" },
    { name: "express.json() and the sample", contender: "sample" },
    { name: "express.json()", contender: "json" },
  ];
  const request = requestOf(signedMessage(700));
  const receivers = contenders.map((each) => ({ ...each, framework: "express", request }));
  const points = new Map<string, Points>(contenders.map(({ name }) => [name, []]));
  for (const connections of CONNECTIONS) {
    progress(`Express 5, ${connections} connections`);
    const measured = await withReceivers(receivers, connections, (loaded) =>
      alternate(loaded, { rounds: rounds(5), ...TURNS }),
    );
    for (const [name, all] of points) all.push([connections, median(valuesOf(measured, name))]);
  }
  return {
    title: "Express 5 by the number of connections, 0.7 KB",
    x: { label: "connections", scale: "log" },
    y: { label: "requests a second of CPU time" },
    series: [...points].map(([name, all]) => ({ name, points: all })),
  };
}

async function drawEndpoints({ rounds, progress }: BenchContext): Promise<Omit<Chart, "name">> {
  const points: Points = [];
  await withChildren([startChild("sink")], async ({ ready }) => {
    for (const count of ENDPOINTS) {
      progress(`sender, ${count} endpoints`);
      const urls = Array.from(
        { length: count },
        (_, index) => `http://127.0.0.1:${ready as number}/${index}`,
      );
      const sender = await openSender({ urls });
      const measured = await alternate([forwarding("sender", sender, MESSAGES)], { rounds: rounds(5) });
      await sender.close();
      points.push([count, median(valuesOf(measured, "sender"))]);
    }
  });
  return {
    title: "The sender by the number of endpoints, memory store",
    x: { label: "endpoints of the destination, all of which get each message" },
    y: { label: "a second" },
    series: [
      { name: "messages", points },
      { name: "requests", points: points.map(([count, rate]) => [count, rate * count]) },
    ],
  };
}

async function drawFailures({ rounds, progress }: BenchContext): Promise<Omit<Chart, "name">> {
  const points: Points = [];
  for (const share of FAILURE_SHARES) {
    progress(`sender, ${share * 100} % failures`);
    await withChildren([startChild("sink", [String(share)])], async ({ ready }) => {
      // Retries at once: what is measured is their work, not the wait for them.
      const retry = { firstDelayMs: 5, maxDelayMs: 20 };
      const sender = await openSender({ urls: [`http://127.0.0.1:${ready as number}/`], retry });
      const measured = await alternate([forwarding("sender", sender, MESSAGES)], { rounds: rounds(5) });
      await sender.close();
      points.push([share * 100, median(valuesOf(measured, "sender"))]);
    });
  }
  return {
    title: "The sender by the share of requests that fail, memory store",
    x: { label: "% of requests answered with 503" },
    y: { label: "a second" },
    series: [
      { name: "messages delivered", points },
      { name: "requests", points: points.map(([share, rate]) => [share, rate / (1 - share / 100)]) },
    ],
  };
}

function drawBacklog({ rounds, progress }: BenchContext): Promise<Omit<Chart, "name">> {
  return withTemporaryFolder(async (folder) => {
    const contenders = [];
    for (const pending of BACKLOGS) {
      progress(`backlog, storing ${pending}`);
      const path = join(folder, `${pending}.db`);
      await pile(path, pending);
      contenders.push(withBacklog(String(pending), path, pending, MESSAGES));
    }
    progress("backlog, accepting and delivering in turns");
    const measured = await alternate(contenders, { rounds: rounds(5) });
    return {
      title: "The sender by what is pending, file store, without a network",
      x: { label: "pending deliveries", scale: "log" },
      y: { label: "messages accepted and delivered a second" },
      series: [
        {
          name: "messages",
          points: BACKLOGS.map((pending) => [pending, median(valuesOf(measured, String(pending)))]),
        },
      ],
    };
  });
}

export const curves: readonly Bench[] = [
  curve("body-size", "verifyWebhook from 300 bytes to 1 MB", drawBodySize),
  curve("connections", "Express 5 with 1 to 500 connections", drawConnections),
  curve("endpoints", "the sender with 1 to 5 endpoints", drawEndpoints),
  curve("failures", "the sender while 0 to 50 % of its requests fail", drawFailures),
  curve("backlog", "the sender with 10 to a million pending", drawBacklog),
];
