import { describe, expect, it } from "vitest";
import {
  ACCEPTED_FORGERY,
  adviceFor,
  answerLine,
  answerText,
  budgetText,
  durationText,
  isSlow,
  NO_ANSWER_CODES,
  noAnswer,
  ordinal,
  shortId,
  verdictOf,
  whyOf,
  type AttemptFacts,
} from "@countersign/sender/explain";
import { coreMs } from "../../core/test/support/core-ms.ts";
import type { AttemptOutcome } from "../src/delivery/attempt.ts";
import { FAULTS } from "../src/faults/fault.ts";
import type { TransportErrorCode } from "../src/transport/transport-error.ts";

function attempt(facts: Partial<AttemptFacts> = {}): AttemptFacts {
  const { status } = facts;
  const outcome: AttemptOutcome =
    status === undefined ? "network" : status < 300 ? "success" : status >= 500 ? "server_error" : "rejected";
  return { endpoint: "http://localhost:3000/webhooks", outcome, durationMs: 4, ...facts };
}

describe("the verdict", () => {
  it.each([
    ["bad_signature", 401, "refused_forgery", "401, as it should be"],
    ["missing_signature", 403, "refused_forgery", "403, as it should be"],
    ["stale_secret", 400, "refused_forgery", "400, but 401 is usual"],
    ["bad_signature", 204, "accepted_forgery", ACCEPTED_FORGERY],
    ["missing_signature", 200, "accepted_forgery", ACCEPTED_FORGERY],
    ["stale_secret", 202, "accepted_forgery", ACCEPTED_FORGERY],
    // A path that nothing handles has not judged the signature, and neither has a handler that crashed.
    ["bad_signature", 404, "failed", "404"],
    ["bad_signature", 500, "failed", "500"],
    ["bad_signature", 302, "failed", "302"],
    ["truncated", 204, "accepted_fragment", "204: ACCEPTED HALF A MESSAGE"],
    ["reset", undefined, "injected", "connection reset on purpose"],
    ["oversize", 413, "injected", "413, as it should be"],
    ["oversize", 500, "failed", "500"],
    ["status:503", 503, "injected", "503"],
    ["duplicate", 204, "delivered", "204"],
    [undefined, 204, "delivered", "204"],
    [undefined, 401, "failed", "401"],
  ] as const)(
    "on %s answered %s is %s, so that a forgery is never shown as a success",
    (fault, status, kind, text) => {
      expect(verdictOf(attempt({ fault, status }))).toEqual({ kind, text });
    },
  );

  it("calls nothing a forgery where no secret is known: there the receiver has nothing to verify", () => {
    const forged = attempt({ fault: "bad_signature", status: 204 });
    expect(verdictOf(forged, { signed: false }).kind).toBe("delivered");
    expect(adviceFor(forged, { signed: false })).toBeUndefined();
  });
});

describe("advice", () => {
  it.each([
    [{ status: 401 }, "401", /Compare its secret/],
    [{ status: 404 }, "404", /No route handles this path/],
    [{ status: 413 }, "413", /smaller bodies/],
    [{ status: 418 }, "418", /rejected the message/],
    [{ status: 507 }, "507", /The receiver failed/],
    [{ code: "ECONNREFUSED" }, "ECONNREFUSED", /^Is the receiver running at localhost:3000\?/],
    [
      { code: "UND_ERR_SOCKET" },
      "UND_ERR_SOCKET",
      /crashed or restarted.*If its port speaks TLS, write https/,
    ],
    [
      { code: "ECONNRESET", endpoint: "https://shop.test/" },
      "ECONNRESET",
      /crashed or restarted.*time in the proxy\.$/,
    ],
    [{ code: "ERR_TIMEOUT", outcome: "timeout" }, "ERR_TIMEOUT", /Store the message, answer/],
    [{ code: "ETIMEDOUT", outcome: "timeout" }, "ETIMEDOUT", /firewall/],
    // Older and newer versions of OpenSSL have other names for an alert.
    ...["SSLV3_ALERT_BAD", "SSL/TLS_ALERT_BAD", "TLSV13_ALERT"].map((start) => {
      const code = `ERR_SSL_${start}_CERTIFICATE${start.startsWith("TLSV13") ? "_REQUIRED" : ""}`;
      return [{ code }, code, /without a client certificate/] as const;
    }),
    [{ code: "ERR_SSL_TLSV1_UNRECOGNIZED_NAME" }, "ERR_SSL_TLSV1_UNRECOGNIZED_NAME", /Correct the host name/],
    [{ code: "CERT_HAS_EXPIRED", outcome: "tls" }, "CERT_HAS_EXPIRED", /Renew/],
    [{ code: "SOMETHING_NEW", outcome: "tls" }, "SOMETHING_NEW", /valid for this host/],
    [{ code: "HPE_INVALID_CONSTANT" }, "HPE_INVALID_CONSTANT", /https:\/\//],
    [
      { status: 308, message: "answered 308 to https://x.test/hooks/; redirects are not followed" },
      "redirect",
      /Use https:\/\/x\.test\/hooks\/ as/,
    ],
    // A path is no URL that could be used.
    [
      { status: 301, responseHeaders: { location: "/new" } },
      "redirect",
      /Use http:\/\/localhost:3000\/new as/,
    ],
    [{ status: 301, responseHeaders: { location: "http://" } }, "redirect", /Use http:\/\/ as/],
    // It answers 200 to everything that is sent there.
    ...["https://sso.shop.test/?next=%2Fhooks", "/users/sign_in", "/Account/Login", "/oauth2/start"].map(
      (location) =>
        [
          { status: 302, responseHeaders: { location } },
          "redirect",
          /wants a login.*Let requests to the path of the webhook in without a login/,
        ] as const,
    ),
    ...["/catalog/inside", "/authors/", "/designing", "/signing-keys"].map(
      (location) => [{ status: 302, responseHeaders: { location } }, "redirect", /Use http:/] as const,
    ),
    [
      { status: 204, fault: "missing_signature" },
      "accepted_forgery:missing_signature",
      /without a signature/,
    ],
    [{ status: 204, fault: "bad_signature" }, "accepted_forgery:bad_signature", /wrong signature/],
    [{ status: 500, fault: "bad_signature" }, "forgery:500", /should answer 401/],
  ] as const)("for %o says what to do", (facts, kind, text) => {
    const advice = adviceFor(attempt(facts));
    expect(advice).toEqual({ kind, text: expect.stringMatching(text), next: expect.any(String) });
  });

  it("names the missing secret where nothing was signed, and not a wrong one", () => {
    expect(adviceFor(attempt({ status: 401 }), { signed: false })?.text).toMatch(/without a signature/);
  });

  it.each([
    ["pending", { status: 404 }, /^The delivery is retried/],
    ["delivered", { status: 503 }, /^The delivery counts as delivered/],
    ["failed", { status: 503 }, /^There is no retry: resend/],
    ["expired", { status: 503 }, /^There is no retry: resend/],
  ] as const)(
    "tells what happens to a delivery that is %s, whatever its last attempt was",
    (state, facts, next) => {
      expect(adviceFor(attempt(facts), { state })?.next).toMatch(next);
    },
  );

  it("tells for how long a delivery is retried", () => {
    const next = (retryWindowMs?: number) => adviceFor(attempt({ status: 503 }), { retryWindowMs })?.next;
    expect(next()).toBe("The delivery is retried for 4 h.");
    expect(next(90_000)).toBe("The delivery is retried for 90 s.");
  });

  it("is not given where nothing is wrong", () => {
    expect(adviceFor(attempt({ status: 204 }))).toBeUndefined();
    expect(adviceFor(attempt({ status: 401, fault: "bad_signature" }))).toBeUndefined();
    expect(adviceFor(attempt({ fault: "reset", code: "ECONNRESET" }))).toBeUndefined();
  });

  it("exists for every status, code and fault: no failure is without a next step", () => {
    for (let status = 300; status < 600; status += 1)
      expect({ status, advice: adviceFor(attempt({ status })) }).toEqual({
        status,
        advice: {
          kind: expect.any(String),
          text: expect.stringMatching(/\.$/),
          next: expect.stringMatching(status < 500 ? /^There is no retry/ : /^The delivery is retried/),
        },
      });
    for (const [code, { words, cause, fix }] of Object.entries(NO_ANSWER_CODES)) {
      expect(adviceFor(attempt({ code }))?.text).toContain(fix);
      expect({ code, words, cause }).toEqual({
        code,
        words: expect.stringMatching(/^[a-z].*[^.]$/),
        cause: expect.stringMatching(/^[A-Z].*\.$/),
      });
    }
    for (const fault of FAULTS) expect(verdictOf(attempt({ fault })).text).not.toBe("");
  });

  it("blames no option for an address that is blocked without it", () => {
    const text = adviceFor(attempt({ outcome: "rejected", code: "ERR_ADDRESS_BLOCKED" }))?.text;
    expect(text).toMatch(
      /^The host is a link-local address or the metadata service of a cloud, which are never called/,
    );
  });

  it("has words for every code that the transport makes", () => {
    const codes = {
      ERR_ABORTED: true,
      ERR_ADDRESS_BLOCKED: true,
      ERR_CLOSED: true,
      ERR_INFORMATIONAL_FLOOD: true,
      ERR_INVALID_CA: true,
      ERR_PROXY: true,
      ERR_TIMEOUT: true,
      ETIMEDOUT: true,
      ERR_UNEXPECTED_INFORMATIONAL: true,
    } satisfies Record<TransportErrorCode, true>;
    for (const code of Object.keys(codes)) expect(Object.keys(NO_ANSWER_CODES)).toContain(code);
    expect(noAnswer("__proto__", "network").words).toBe("did not answer");
  });
});

describe("the answer", () => {
  it("is its status, or what happened in place of one, and never a bare code", () => {
    expect(answerText(attempt({ status: 500 }))).toBe("500");
    expect(answerText(attempt({ code: "UND_ERR_SOCKET" }))).toBe("closed the connection before answering");
    expect(answerText(attempt({ code: "ERR_SSL_SOMETHING" }))).toBe("did not complete the TLS handshake");
    expect(answerText(attempt({ code: undefined, outcome: "timeout" }))).toBe("did not answer in time");
  });

  it.each([
    [
      "a problem's detail",
      '{"type":"about:blank","title":"Unauthorized","detail":"The header is missing."}',
      "The header is missing.",
    ],
    ["a JSON error's message", '{"error":{"message":"no such user"}}', "no such user"],
    ["the first of a list", '[{"message":"first"},{"message":"second"}]', "first"],
    ["a JSON text", '"sorry"', "sorry"],
    [
      "Express's page",
      "<!DOCTYPE html>\n<html><head><title>Error</title></head><body>\n<pre>Error: boom &quot;x&quot;<br> &nbsp; at handler</pre></body>",
      'Error: boom "x"',
    ],
    [
      "nginx's page",
      "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>",
      "502 Bad Gateway",
    ],
    ["a page without any of them", "<div><p>down for\n  maintenance</p></div>", "down for"],
    ["the first line that is not empty", "\n\n  Traceback:\n line 2", "Traceback:"],
    ["JSON without a message", '{"ok":false}', '{"ok":false}'],
    ["JSON that was cut", '{"detail":"The heade', '{"detail":"The heade'],
    ["nothing", " \n ", undefined],
  ])("is told by %s", (_title, response, line) => {
    expect(answerLine(attempt({ response }))).toBe(line);
  });

  it("of 16 KiB made to be slow is searched in no time, and cut to a line", async () => {
    for (const unit of ["<pre", "<h1", "<", ">", "<title>", "&", "{", '["', " ", "x"]) {
      const slow = attempt({ response: unit.repeat(16_384 / unit.length) });
      expect(await coreMs(() => answerLine(slow))).toBeLessThan(100);
      expect(answerLine(slow)?.length ?? 0).toBeLessThanOrEqual(200);
    }
  });
});

describe("why", () => {
  it.each([
    [{ state: "pending", attempts: 0 }, "Waits for its first try."],
    [
      { state: "pending", attempts: 2, last: attempt({ status: 500 }) },
      "Waits for its 3rd try: the receiver answered 500.",
    ],
    [
      { state: "pending", attempts: 1, last: attempt({ code: "ECONNREFUSED" }) },
      "Waits for its 2nd try: the receiver refused the connection.",
    ],
    [
      { state: "failed", attempts: 1, last: attempt({ status: 401 }) },
      "Failed, without a retry: the receiver answered 401.",
    ],
    [
      { state: "failed", attempts: 1, last: attempt({ code: "CERT_HAS_EXPIRED", outcome: "tls" }) },
      "Failed, without a retry: the receiver has an expired certificate, so no message was sent.",
    ],
    [
      { state: "expired", attempts: 31, last: attempt({ status: 503 }) },
      "No endpoint accepted it in time; at the last try the receiver answered 503.",
    ],
    [{ state: "delivered", attempts: 1, last: attempt({ status: 204 }) }, "The receiver answered 204."],
    [
      { state: "delivered", attempts: 3, last: attempt({ status: 200, durationMs: 4_210 }) },
      "The receiver answered 200 at the 3rd try, after 4.2 s of 5.",
    ],
    [
      { state: "delivered", attempts: 2, last: attempt({ status: 503 }) },
      "One endpoint accepted it; at another the receiver answered 503.",
    ],
    [
      { state: "delivered", attempts: 1, last: attempt({ status: 200, fault: "bad_signature" }) },
      "ACCEPTED A FORGERY: the receiver answered 200 to bad_signature.",
    ],
    [
      { state: "failed", attempts: 1, last: attempt({ status: 401, fault: "bad_signature" }) },
      "The receiver rejected the forgery (bad_signature) with 401.",
    ],
    [
      { state: "pending", attempts: 1, last: attempt({ status: 503, fault: "status:503" }) },
      "Waits for its 2nd try: the receiver answered 503 (fault: status:503).",
    ],
  ] as const)("%o is one sentence", (delivery, sentence) => {
    expect(whyOf(delivery)).toBe(sentence);
  });
});

it("texts for numbers are short and never wrong at their borders", () => {
  const durations = [
    0, 4.4, 999.4, 999.5, 1_000, 1_210, 4_960, 9_000, 99_400, 99_500, 720_000, 6_000_000, 14_400_000,
  ];
  expect(durations.map(durationText)).toEqual([
    "0 ms",
    "4 ms",
    "999 ms",
    "1 s",
    "1 s",
    "1.2 s",
    "5 s",
    "9 s",
    "99 s",
    "2 min",
    "12 min",
    "1 h 40 min",
    "4 h",
  ]);
  expect([4_000, 4_000.1].map((ms) => isSlow(ms, 5_000))).toEqual([false, true]);
  expect(budgetText(4_210, 5_000)).toBe("4.2 s of 5");
  expect([1, 2, 3, 4, 11, 12, 13, 21, 111].map(ordinal)).toEqual([
    "1st",
    "2nd",
    "3rd",
    "4th",
    "11th",
    "12th",
    "13th",
    "21st",
    "111th",
  ]);
  expect(shortId("0190b2c4-0000-7000-8000-00000000a8f3")).toBe("a8f3");
});
