import { EventEmitter, once } from "node:events";
import { adviceFor, type Advice } from "./advice.ts";
import type { Audit, AuditFailure } from "./audit.ts";
import { accepted, decided } from "./expectations.ts";
import { ACCEPTS_AUTHENTIC } from "./foundations.ts";
import { freshText } from "./messages.ts";
import { MADE_UP_SIGNATURE } from "./signatures.ts";
import { ANSWER_BUDGET_MS } from "../probe/create-probe.ts";
import type { Delivery, Exchange, Probe } from "../probe/probe.ts";

const DEPTH: Advice = {
  text: "Limit the depth of what is parsed, and never walk or write it recursively before it is verified.",
  hint: "json",
};

/** Deeper than most parsers recurse, and still within the 64 KiB that a message may have. */
const TOO_DEEP = 15_000;

/** What any stranger can send. The receiver must still answer afterwards. */
export const survives: readonly Audit[] = [
  {
    id: "survives-deep-nesting",
    alone: true,
    level: "MUST",
    needs: ACCEPTS_AUTHENTIC,
    title: "Handles lists nested 15,000 deep",
    run: async (probe) => {
      const body = "[".repeat(TOO_DEEP) + "]".repeat(TOO_DEEP);
      const fix = adviceFor(DEPTH, probe);
      for (const signature of [undefined, MADE_UP_SIGNATURE]) {
        const what = `a track message nested ${TOO_DEEP} deep`;
        const nested = freshText("track", { properties: "@" }).replace('"@"', body);
        const exchange = await probe.send({ what, body: nested, ...(signature && { signature }) });
        const failed = decided(exchange, fix);
        if (failed && !(signature && (await failsForForgeries(probe)))) return failed;
      }
      return stillAnswers(probe, "a deeply nested message", fix);
    },
  },
  {
    id: "survives-garbage",
    alone: true,
    level: "MUST",
    needs: ACCEPTS_AUTHENTIC,
    title: "Answers after bytes that are not HTTP",
    run: async (probe) => {
      for (const bytes of garbage()) await probe.sendBytes(bytes);
      return stillAnswers(
        probe,
        "bytes that are not HTTP",
        "Handle the errors of the HTTP parser and of the socket.",
      );
    },
  },
  {
    id: "survives-aborted-body",
    alone: true,
    level: "MUST",
    needs: ACCEPTS_AUTHENTIC,
    title: "Answers after aborted bodies",
    run: async (probe) => {
      for (const ending of ["close", "reset", "close", "reset"] as const)
        await probe.send(abortedDelivery(ending));
      const fix = "Handle the error and the end of an aborted request, and free its memory.";
      return stillAnswers(probe, "four bodies that were aborted half-way", fix);
    },
  },
  {
    id: "survives-slow-body",
    alone: true,
    level: "MUST",
    needs: ACCEPTS_AUTHENTIC,
    title: "Answers other requests while bodies arrive slowly",
    run: survivesSlowBodies,
  },
];

/** Whether it answers, and fails for any forgery: then a deep one that it fails for says nothing of its depth. */
async function failsForForgeries(probe: Probe): Promise<boolean> {
  // It may have broken down, and be back in a moment.
  if ((await stillAnswers(probe, "a forgery", "")) !== undefined) return false;
  const what = "a track message with a made-up signature";
  const exchange = await probe.send({ what, body: freshText("track"), signature: MADE_UP_SIGNATURE });
  return decided(exchange, "") !== undefined;
}

const PARALLEL: Advice = {
  text: "Serve connections in parallel, and abort a body that takes longer than some seconds.",
  hint: "workers",
};

async function survivesSlowBodies(probe: Probe): Promise<AuditFailure | undefined> {
  const fix = adviceFor(PARALLEL, probe);
  const release = new AbortController();
  const slow = Array.from({ length: 5 }, () => sendSlowly(probe, release.signal));
  try {
    await Promise.all(slow.map(({ halfSent, done }) => Promise.race([halfSent, done])));
    const failed = await stillAnswers(probe, "five bodies that have arrived by half", fix);
    if (failed) return failed;
  } finally {
    release.abort();
    await Promise.allSettled(slow.map(({ done }) => done));
  }
  return stillAnswers(probe, "five bodies that have arrived slowly", fix);
}

/** Whether an ordinary message is accepted, and in time: one that is late because of the event is this audit's finding alone. */
async function stillAnswers(probe: Probe, event: string, fix: string): Promise<AuditFailure | undefined> {
  const timeoutMs = Math.min(probe.timeoutMs, ANSWER_BUDGET_MS);
  const what = `a track message after ${event}`;
  const exchange = await probe.send({ what, body: freshText("track"), transfer: { timeoutMs } });
  return accepted(exchange, fix);
}

function abortedDelivery(ending: "close" | "reset"): Delivery {
  const body = Buffer.from(freshText("track"));
  const half = body.subarray(0, body.length / 2);
  return { what: "half of a track message", body, transfer: { pieces: only(half), ending } };
}

/** Sends half a message, and the other half once it is released. */
function sendSlowly(
  probe: Probe,
  released: AbortSignal,
): { readonly halfSent: Promise<void>; readonly done: Promise<Exchange> } {
  const body = Buffer.from(freshText("track"));
  const halfSent = new EventEmitter();
  const pieces = halves(body, async () => {
    halfSent.emit("sent");
    if (!released.aborted) await once(released, "abort");
  });
  return {
    halfSent: once(halfSent, "sent").then(() => undefined),
    done: probe.send({
      what: "a track message in two halves, seconds apart",
      body,
      // It must outlast the message that is sent in the meantime.
      transfer: { pieces, timeoutMs: 2 * probe.timeoutMs },
    }),
  };
}

async function* only(piece: Uint8Array): AsyncGenerator<Uint8Array> {
  yield piece;
}

async function* halves(body: Uint8Array, pause: () => Promise<void>): AsyncGenerator<Uint8Array> {
  const half = Math.floor(body.length / 2);
  yield body.subarray(0, half);
  await pause();
  yield body.subarray(half);
}

function garbage(): Uint8Array[] {
  return [
    Uint8Array.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03]),
    Buffer.from("NOT HTTP AT ALL\r\n\r\n"),
    Buffer.from("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n"),
    Buffer.from(`POST / HTTP/1.1\r\nHost: x\r\nX-Signature: a\u0000b\r\n\r\n`),
    Buffer.from(`GET / HTTP/1.1\r\nHost: x\r\n${"X-Fill: ".padEnd(100_000, "x")}\r\n\r\n`),
    Buffer.from("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
  ];
}
