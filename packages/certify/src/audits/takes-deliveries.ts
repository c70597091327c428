import type { Audit } from "./audit.ts";
import { adviceFor, type Advice } from "./advice.ts";
import { seconds } from "./diagnose-rejection.ts";
import { accepted, failure, sendEach } from "./expectations.ts";
import { ACCEPTS_AUTHENTIC } from "./foundations.ts";
import { freshMessage, freshText } from "./messages.ts";
import type { Delivery, Exchange, Probe } from "../probe/probe.ts";

const AT_ONCE = 20;

const ANSWER_FIRST: Advice = {
  text: "Store the message, answer, and process it afterwards: the sender gives up after five seconds and sends it again.",
  hint: "later",
};

/** How the sender delivers: at least once, several at a time, over connections it keeps, for five seconds each. */
export const takesDeliveries: readonly Audit[] = [
  {
    id: "accepts-redelivery",
    level: "MUST",
    title: "Accepts the same delivery twice",
    needs: ACCEPTS_AUTHENTIC,
    run: (probe) => {
      const body = freshText("track");
      return sendEach(
        probe,
        [
          { what: "a track message, the first time", body },
          { what: "the same track message a second time", body },
        ],
        accepted,
        {
          text: "Answer 2xx to a message that you have already processed: delivery is at least once, and after an error the sender retries.",
        },
      );
    },
  },
  {
    id: "accepts-twenty-at-once",
    level: "MUST",
    title: "Accepts twenty messages at once",
    alone: true,
    needs: ACCEPTS_AUTHENTIC,
    run: async (probe) => {
      const deliveries = Array.from({ length: AT_ONCE }, (_, index) => ({
        what: `a track message, number ${index + 1} of ${AT_ONCE} sent at once`,
        body: freshText("track"),
      }));
      const exchanges = await Promise.all(deliveries.map((delivery) => probe.send(delivery)));
      const fix = adviceFor(
        {
          text: "Serve requests in parallel, or queue them: the sender does not wait for one before it sends the next.",
          hint: "workers",
        },
        probe,
      );
      return exchanges.map((exchange) => accepted(exchange, fix)).find((failed) => failed !== undefined);
    },
  },
  {
    id: "keeps-connections-in-step",
    level: "MUST",
    title: "Accepts a message on a connection on which it has rejected one",
    needs: ACCEPTS_AUTHENTIC,
    run: keepsInStep,
  },
];

/** Rules about every response: they run last, and also check the responses that the other audits got. */
export const aboutEveryAnswer: readonly Audit[] = [
  {
    id: "answers-within-5-seconds",
    level: "MUST",
    title: "Answers every request within five seconds",
    alone: true,
    run: async (probe) => {
      // Answers that were late already need no more of them.
      if (probe.late.length === 0) for (const delivery of ordinary(probe)) await probe.send(delivery);
      const [late] = probe.late;
      return (
        late &&
        failure(
          late,
          "an answer within 5 s of the start of the attempt",
          adviceFor(ANSWER_FIRST, probe),
          lateness(late),
        )
      );
    },
  },
  {
    id: "leaks-no-digest",
    level: "MUST",
    title: "Reveals neither the right digest nor the secret in any response",
    alone: true,
    run: async (probe) => {
      for (const delivery of [...forged(), ...ordinary(probe)]) await probe.send(delivery);
      const { leak } = probe;
      return (
        leak &&
        failure(
          leak,
          "an answer without the right digest, and without the secret",
          "Never include the expected signature, a stack trace or the configuration in a response: with them, anyone can forge.",
          "an answer contains the right digest, or the secret",
        )
      );
    },
  },
];

/** How late an answer was, in a few words. */
export function lateness({ answer, durationMs }: Exchange): string {
  const what = answer === undefined ? "no answer within" : "answered after";
  return `${what} ${seconds(durationMs)}; the sender gives up at 5 s`;
}

async function keepsInStep(probe: Probe): ReturnType<Audit["run"]> {
  for (const rejection of rejections()) {
    const failed = await probe.withConnection(async (agent) => {
      await probe.send({ ...rejection, transfer: { agent } });
      const what = `a track message on the connection of a rejected one (${rejection.what})`;
      const delivery: Delivery = { what, body: freshText("track"), transfer: { agent } };
      const second = await probe.send(delivery);
      return accepted(
        isStaleConnection(second) ? await probe.send(delivery) : second,
        "Read the body of a rejected request to its end, or answer with Connection: close, before the next request is read.",
      );
    });
    if (failed !== undefined) return failed;
  }
  return undefined;
}

/** To be rejected after the body was read, since the signature is of the body, or by the head alone: then the body may be left. */
function rejections(): Delivery[] {
  const body = freshText("track");
  return [
    { what: "a made-up signature", body, signature: "f".repeat(40) },
    { what: "no signature", body, signature: null },
    { what: "text/plain", body, headers: { "Content-Type": "text/plain" } },
  ];
}

/**
 * A receiver may close an idle connection at any moment. A sender then tries again on another, and so does this. One that stays
 * open without an answer is out of step.
 */
function isStaleConnection({ answer, timedOut, reusedConnection }: Exchange): boolean {
  return answer === undefined && !timedOut && reusedConnection;
}

function forgedDelivery(): Delivery {
  return { what: "a track message", body: freshText("track"), signature: "f".repeat(40) };
}

function forged(): Delivery[] {
  const what = "a track message";
  return [
    forgedDelivery(),
    { what, body: freshText("track"), signature: null },
    { what, body: freshText("track"), signature: "not-a-signature" },
    { what: "text that is not JSON", body: "{", signature: "f".repeat(40) },
  ];
}

function ordinary({ sign }: Probe): Delivery[] {
  const types = ["page", "screen", "identify", "track", "alias", "group", "delete"] as const;
  return types.map((type) => {
    const body = JSON.stringify(freshMessage(type));
    return { what: `the ${type} message`, body, signature: sign(body) };
  });
}
