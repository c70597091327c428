import type { Audit, AuditFailure } from "./audit.ts";
import { adviceFor, type Advice } from "./advice.ts";
import { diagnoseRejection } from "./diagnose-rejection.ts";
import { ACCEPTED, REJECTED, accepted, failure, isAccepted, rejected, sendEach } from "./expectations.ts";
import { freshMessage, freshText } from "./messages.ts";
import { hasLeadingZero, MADE_UP_SIGNATURE, trackSignedSo } from "./signatures.ts";
import type { Exchange, Probe } from "../probe/probe.ts";

/** The audit that a receiver must pass before it is known that the URL leads to it. */
export const ACCEPTS_PLAIN = ["accepts-track"] as const;

/** The audits that a receiver must pass before those that send authentic messages mean anything. */
export const ACCEPTS_AUTHENTIC = ["accepts-track", "accepts-leading-zeros"] as const;

/** The audit that a receiver must pass before those that send other forgeries mean anything. */
export const REJECTS_FORGED = ["rejects-made-up-signature"] as const;

/** The audits that all others depend on. */
export const foundations: readonly Audit[] = [
  {
    id: "accepts-track",
    level: "MUST",
    title: "Accepts a track message",
    run: acceptsTrack,
  },
  {
    id: "accepts-leading-zeros",
    level: "MUST",
    title: "Accepts a signature that has a byte below 0x10",
    needs: ACCEPTS_PLAIN,
    run: acceptsLeadingZeros,
  },
  {
    id: "rejects-made-up-signature",
    level: "MUST",
    title: "Rejects a made-up signature",
    run: rejectsMadeUpSignature,
  },
];

/** To be added to an advice. */
const OTHER_CODE =
  "It accepts a GET, too. If your code checks the signature, it may not run at all: look for a route that takes every path, another server at this address or, in PHP, a syntax error, to which the built-in server answers 200 (php -l finds it).";

async function acceptsTrack(probe: Probe): Promise<AuditFailure | undefined> {
  // Without the digits that only the next audit is about. Many messages have a slash, which PHP writes as \/: who serialises JSON
  // again is told so here, and not by each audit whose message has one.
  const properties = { ...(freshMessage("track")["properties"] as object), url: "https://example.com/" };
  const body = trackSignedSo(probe, (signature) => !hasLeadingZero(signature), { properties });
  const exchange = await probe.send({ what: "a track message", body });
  if (isAccepted(exchange)) return undefined;
  const { cause, advice } = await diagnoseRejection(probe, exchange);
  return failure(exchange, ACCEPTED, adviceFor(advice, probe), cause);
}

async function acceptsLeadingZeros(probe: Probe): Promise<AuditFailure | undefined> {
  const first = trackSignedSo(probe, (signature) => signature.startsWith("0"));
  const inner = trackSignedSo(probe, (signature) => !signature.startsWith("0") && hasLeadingZero(signature));
  const failed = await sendEach(
    probe,
    [
      { what: "a track message whose signature has a byte below 0x10 inside", body: inner },
      { what: "a track message whose signature begins with 0", body: first },
    ],
    accepted,
    { text: "Write each byte of the digest as two hex digits.", hint: "hex" },
  );
  return failed && { ...failed, cause: "it writes hex without leading zeros" };
}

async function rejectsMadeUpSignature(probe: Probe): Promise<AuditFailure | undefined> {
  const exchange = await probe.send({
    what: "a track message with a made-up signature",
    body: freshText("track"),
    signature: MADE_UP_SIGNATURE,
  });
  const isForged = isAccepted(exchange);
  if (isForged && (await isToldApart(probe, exchange))) {
    return failure(
      exchange,
      REJECTED,
      "Answer 401 when the signature is wrong, and set the status before anything is written: to the sender 2xx means accepted, whatever the body of the response says. The signature seems to be checked, since authentic messages get another answer.",
      "its answer to a forged message means accepted, whatever the body says",
    );
  }
  // It may well check the signature: what is wrong is how it says so.
  const say =
    "Answer 401 when the signature is missing or wrong. If it should do so already, the receiver's log has the error.";
  const check: Advice = {
    text: "Compute HMAC-SHA1 of the body with the secret, and reject the request if it differs from X-Signature: as it is, anyone can forge messages.",
    hint: "digest",
  };
  const failed = rejected(exchange, isForged ? adviceFor(check, probe) : say);
  if (failed === undefined || !isForged) return failed;
  const fix = (await acceptsGet(probe)) ? `${failed.fix} ${OTHER_CODE}` : failed.fix;
  return { ...failed, fix, cause: "it accepts forged messages: X-Signature is not checked" };
}

/** Then it may be something else that answers. */
async function acceptsGet(probe: Probe): Promise<boolean> {
  return isAccepted(await probe.send({ what: "no body", method: "GET", body: "", signature: null }));
}

/** Whether two authentic messages get the same answer, and the forged one has got another. */
async function isToldApart(probe: Probe, forged: Exchange): Promise<boolean> {
  const what = "a track message, to compare the answers";
  const first = await probe.send({ what, body: freshText("track") });
  const second = await probe.send({ what, body: freshText("track") });
  return isAccepted(first) && isSameAnswer(first, second) && !isSameAnswer(first, forged);
}

function isSameAnswer({ answer: one }: Exchange, { answer: other }: Exchange): boolean {
  return one?.status === other?.status && one?.body === other?.body;
}
