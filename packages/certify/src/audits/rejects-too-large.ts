import { adviceFor, type Advice } from "./advice.ts";
import type { Audit } from "./audit.ts";
import { answeredWith, failure } from "./expectations.ts";
import { ACCEPTS_PLAIN } from "./foundations.ts";
import { freshText } from "./messages.ts";
import type { Delivery, Exchange, Probe } from "../probe/probe.ts";

const LIMIT: Advice = {
  text: "Reject by Content-Length before reading, count the bytes while reading, and stop at a limit such as 1 MiB. If a web server in front reads the body before the receiver runs, set the limit of that server.",
  hint: "limit",
  isOurs: true,
};

/** Two thousand times the largest message: beyond any limit a receiver of webhooks may set on purpose. */
const TOO_LARGE = 64 * 1024 * 1024;

/** Makes a delivery whose body no receiver may read whole. */
type Oversized = (probe: Probe) => Delivery;

const PIECE = new Uint8Array(64 * 1024).fill(0x20);

/** How long a receiver that decides by the headers gets to answer, before the rest of the body is sent. */
const HEAD_START_MS = 300;

/** How often a receiver that closes the connection is asked for its answer. */
const ASKED_AT_MOST = 3;

/**
 * Bodies that no message has. A receiver that reads all of them can be made to run out of memory. Where not even a plain message is
 * accepted, it is not known whether the receiver is what answers: a path that is wrong ends at a web server, with limits of its own.
 */
export const rejectsTooLarge: readonly Audit[] = [
  {
    id: "rejects-declared-oversize",
    alone: true,
    needs: ACCEPTS_PLAIN,
    level: "MUST",
    title: "Rejects a body declared as 64 MiB without reading all of it",
    run: (probe) => rejectedInTime(probe, declared),
  },
  {
    id: "rejects-chunked-oversize",
    alone: true,
    needs: ACCEPTS_PLAIN,
    level: "MUST",
    title: "Rejects a chunked body of 64 MiB without reading all of it",
    run: (probe) => rejectedInTime(probe, chunked),
  },
  {
    id: "answers-413-to-oversize",
    alone: true,
    needs: ACCEPTS_PLAIN,
    level: "SHOULD",
    title: "Answers 413 to a body declared as 64 MiB",
    run: async (probe) => {
      const exchange = await answerTo(probe, declared);
      const advice: Advice = {
        text: "Answer 413 when the declared length is over the limit, before reading.",
        hint: "limit",
        isOurs: true,
      };
      return answeredWith(413)(exchange, adviceFor(advice, probe));
    },
  },
];

/**
 * What a receiver answers to a body that is too large. One that closes the connection after its answer resets it if more of the
 * body arrives, and a reset may overtake the answer: then it is asked again.
 */
async function answerTo(probe: Probe, oversized: Oversized): Promise<Exchange> {
  let exchange = await probe.send(oversized(probe));
  for (let asked = 1; asked < ASKED_AT_MOST && isBroken(exchange); asked += 1)
    exchange = await probe.send(oversized(probe));
  return exchange;
}

/** Whether the connection ended without an answer, before the whole body was taken. */
function isBroken({ answer, timedOut, bodyTaken }: Exchange): boolean {
  return answer === undefined && !timedOut && !bodyTaken;
}

async function rejectedInTime(probe: Probe, oversized: Oversized): ReturnType<Audit["run"]> {
  const exchange = await answerTo(probe, oversized);
  const status = exchange.answer?.status;
  const isRejection = status === undefined ? !exchange.timedOut : status >= 400 && status < 500;
  if (isRejection && !exchange.bodyTaken) return status === undefined ? stillAnswers(probe) : undefined;
  const { received } = exchange;
  return failure(
    { ...exchange, received: `${received}; it had taken ${describeBytes(exchange)} of the body by then` },
    "413, or a closed connection, before the body is read",
    adviceFor(LIMIT, probe),
    exchange.bodyTaken ? "it read all 64 MiB" : undefined,
  );
}

/** A connection that ends without an answer is a refusal, unless it is the receiver that has ended. */
async function stillAnswers(probe: Probe): ReturnType<Audit["run"]> {
  const what = "a track message after a body of 64 MiB";
  const exchange = await probe.send({ what, body: freshText("track") });
  if (exchange.answer !== undefined) return undefined;
  const expected = "an answer: only the connection of the large body is closed";
  return failure(exchange, expected, adviceFor(LIMIT, probe), "it stopped answering");
}

function describeBytes({ bytesTaken, bodyTaken }: Exchange): string {
  return bodyTaken ? "all" : `${Math.round(bytesTaken / 1024)} KiB`;
}

function declared(probe: Probe): Delivery {
  return oversize(probe, "64 MiB of white space, declared by Content-Length", TOO_LARGE);
}

function chunked(probe: Probe): Delivery {
  return oversize(probe, "64 MiB of white space in chunks", null);
}

/** Signed for another body, so that a receiver that takes it all has no reason to accept it. */
function oversize({ sign }: Probe, what: string, declaredLength: number | null): Delivery {
  const body = freshText("track");
  return { what, body: "", signature: sign(body), transfer: { pieces: flood(), declaredLength } };
}

async function* flood(): AsyncGenerator<Uint8Array> {
  yield PIECE;
  await new Promise((resolve) => {
    setTimeout(resolve, HEAD_START_MS);
  });
  for (let sent = PIECE.length; sent < TOO_LARGE; sent += PIECE.length) yield PIECE;
}
