import { setTimeout as delay } from "node:timers/promises";
import type { Advice } from "./advice.ts";
import type { Audit, AuditLevel } from "./audit.ts";
import { accepted, sendEach } from "./expectations.ts";
import { ACCEPTS_AUTHENTIC } from "./foundations.ts";
import { freshMessage, freshText } from "./messages.ts";
import type { Delivery, Probe } from "../probe/probe.ts";

/** The ways in which proxies and HTTP clients may put an authentic message on the wire. */
export const acceptsTransfers: readonly Audit[] = [
  accepts("MUST", "accepts-split-body", "Accepts a body that arrives in pieces", {
    deliveries: () => [splitDelivery()],
    fix: {
      text: "Collect the pieces as bytes and decode them together: one may end in the middle of a character.",
      hint: "digest",
    },
  }),
  accepts("MUST", "accepts-chunked-body", "Accepts a chunked body", {
    deliveries: () => [chunkedDelivery()],
    fix: {
      text: "Read the body to its end, not for Content-Length bytes: a proxy may send it chunked (RFC 9112, 7.1).",
      hint: "chunked",
      isOurs: true,
    },
  }),
  accepts("MUST", "accepts-expect-continue", "Accepts a request that expects 100 Continue", {
    deliveries: () => [
      {
        what: "Expect: 100-continue before a track message",
        body: freshText("track"),
        transfer: { awaitContinue: true },
      },
    ],
    fix: { text: "Answer 100 Continue and read the body, or ignore the header (RFC 9110, 10.1.1)." },
  }),
  accepts("MUST", "accepts-charset-parameter", "Accepts application/json with a charset, in any case", {
    deliveries: () =>
      ["application/json; charset=utf-8", "application/json;charset=UTF-8", "Application/JSON"].map(ofType),
    fix: { text: "Compare the media type without its parameters, in any case." },
  }),
  accepts("MUST", "accepts-lower-case-header-names", "Accepts header names in lower case", {
    deliveries: ({ sign }) => {
      const body = freshText("track");
      return [
        {
          what: "a track message, header names in lower case",
          body,
          signature: null,
          headers: { "x-signature": sign(body) },
        },
      ];
    },
    fix: { text: "Look headers up in any case: HTTP/2 and many proxies write them in lower case." },
  }),
  accepts("SHOULD", "accepts-upper-case-signature", "Accepts a signature in upper-case hex", {
    deliveries: ({ sign }) => {
      const body = freshText("track");
      return [{ what: "a track message", body, signature: sign(body).toUpperCase() }];
    },
    fix: { text: "Decode the hex digits and compare the 20 bytes, not the strings.", hint: "compare" },
  }),
  accepts("SHOULD", "accepts-re-spaced-json", "Accepts JSON whose white space a proxy has changed", {
    deliveries: ({ sign }) => {
      const message = freshMessage("track");
      const body = JSON.stringify(message, null, 2);
      return [
        {
          what: "a track message indented after it was signed",
          body,
          signature: sign(JSON.stringify(message)),
        },
      ];
    },
    fix: {
      text: "Ignore this unless a proxy between the service and the receiver, such as a gateway, rewrites JSON. If it does: when the exact bytes do not match, try the parsed body serialised without white space, as JSON.stringify does. The service documents this form.",
    },
  }),
];

interface Samples {
  readonly deliveries: (probe: Probe) => Delivery[];
  readonly fix: Advice;
}

function accepts(level: AuditLevel, id: string, title: string, { deliveries, fix }: Samples): Audit {
  return {
    id,
    level,
    title,
    needs: ACCEPTS_AUTHENTIC,
    run: (probe) => sendEach(probe, deliveries(probe), accepted, fix),
  };
}

function ofType(type: string): Delivery {
  return { what: "a track message", body: freshText("track"), headers: { "Content-Type": type } };
}

function splitDelivery(): Delivery {
  const body = Buffer.from(freshText("track", { event: "Größe 🎉 bestellt" }));
  const inEmoji = body.indexOf("🎉") + 2;
  const inUmlaut = body.indexOf("ö") + 1;
  return {
    what: "a track message in four pieces, two of them cut within a character",
    body,
    transfer: { pieces: inPieces(body, [1, inUmlaut, inEmoji]) },
  };
}

function chunkedDelivery(): Delivery {
  const body = Buffer.from(freshText("track"));
  return {
    what: "a track message as a chunked body",
    body,
    transfer: { pieces: inPieces(body, [10]), declaredLength: null },
  };
}

/** Cuts a body at the given offsets, with pauses that keep the network from joining the pieces again. */
async function* inPieces(body: Uint8Array, cuts: readonly number[]): AsyncGenerator<Uint8Array> {
  let from = 0;
  for (const cut of [...cuts, body.length]) {
    if (from > 0) await delay(20);
    yield body.subarray(from, cut);
    from = cut;
  }
}
