import crypto, { createHash, createHmac } from "node:crypto";
import type { RequestListener } from "node:http";
import { syncBuiltinESMExports } from "node:module";
import { text } from "node:stream/consumers";
import {
  certify,
  LANGUAGES,
  type AuditResult,
  type CertifyOptions,
  type Language,
} from "@countersign/certify";
import { describe, expect, it, onTestFinished } from "vitest";
import { coreReceiver } from "./support/core-receiver.ts";
import { handWrittenReceiver, type Mutation, type Seen } from "./support/hand-written-receiver.ts";
import { SECRET, serve } from "./support/listen.ts";

/** A receiver that has its own idea of what is authentic. */
function verifying(isAuthentic: (seen: Seen) => boolean): Mutation {
  return {
    reply: (seen, { status }) =>
      status === 204 || status === 401 ? { status: isAuthentic(seen) ? 204 : 401 } : undefined,
  };
}

/** A receiver whose signature is computed in another way. */
function signing(digest: (text: string) => string): Mutation {
  return verifying(({ signature, text }) => signature === digest(text));
}

function hmac(text: string, key: string | Buffer = SECRET, algorithm = "sha1"): string {
  return createHmac(algorithm, key).update(text).digest("hex");
}

async function results(
  mutation: Mutation,
  options: Partial<CertifyOptions> = {},
): Promise<readonly AuditResult[]> {
  const receiver = await handWrittenReceiver(mutation);
  const report = await certify({ url: receiver.url, secret: SECRET, ...options });
  await receiver.close();
  return report.results;
}

async function causes(mutation: Mutation, options: Partial<CertifyOptions> = {}): Promise<string[]> {
  const failed = (await results(mutation, options)).filter(({ outcome }) => outcome === "failed");
  return failed.map((result) => `${result.id}: ${"failure" in result ? result.failure.cause : ""}`);
}

function hasProperties(text: string): boolean {
  return text.includes('"properties"');
}

/** JSON as PHP's json_encode writes it. */
function withEscapedSlashes(text: string): string {
  return text.endsWith("}") ? JSON.stringify(JSON.parse(text)).replaceAll("/", String.raw`\/`) : text;
}

/** A JSON writer with a space after each comma and colon, for messages without nested values. */
function dumps(text: string): string {
  if (!text.endsWith("}") || text.startsWith("[")) return text;
  const entries = Object.entries(JSON.parse(text) as object);
  return `{${entries.map(([key, value]) => `${JSON.stringify(key)}: ${JSON.stringify(value)}`).join(", ")}}`;
}

// Some of them run at the same time, and each takes as long as all of those.
const TOGETHER = { timeout: 90_000 };

describe.concurrent(
  "a receiver that accepts no plain track message is told why, in one failure",
  TOGETHER,
  () => {
    it.for<[string, Mutation]>([
      [
        "its secret is a different one, or it signs something other than the body",
        signing((text) => hmac(text, "other")),
      ],
      ["its secret is not set: it uses an empty one", signing((text) => hmac(text, ""))],
      ['its secret is not set: it uses "undefined"', signing((text) => hmac(text, "undefined"))],
      ['its secret is not set: it uses "secret"', signing((text) => hmac(text, "secret"))],
      [
        "it takes the body as the key, and signs the secret with it",
        signing((text) => hmac(SECRET, Buffer.from(text))),
      ],
      ["it signs an empty body: something has read the body before the check", signing(() => hmac(""))],
      ["its secret ends with a line break", signing((text) => hmac(text, `${SECRET}\n`))],
      ["its secret is in quotes", signing((text) => hmac(text, `"${SECRET}"`))],
      ["it decodes the secret from base64", signing((text) => hmac(text, Buffer.from(SECRET, "base64")))],
      ["it expects the signature in upper-case hex", signing((text) => hmac(text).toUpperCase())],
      ["it expects sha1= before the signature", signing((text) => `sha1=${hmac(text)}`)],
      [
        "it expects the signature in base64, not in hex",
        signing((text) => Buffer.from(hmac(text), "hex").toString("base64")),
      ],
      ["it computes HMAC-SHA256, not HMAC-SHA1", signing((text) => hmac(text, SECRET, "sha256"))],
      ["it computes HMAC-SHA256, not HMAC-SHA1", signing((text) => `sha256=${hmac(text, SECRET, "sha256")}`)],
      ["it computes HMAC-MD5, not HMAC-SHA1", signing((text) => hmac(text, SECRET, "md5"))],
      [
        "it hashes the body without the secret, so anyone can sign",
        signing((text) => createHash("sha1").update(text).digest("hex")),
      ],
      [
        "it signs JSON that it has serialised again, not the bytes it received",
        signing((text) => hmac(dumps(text))),
      ],
      [
        "it signs JSON that it has serialised again, not the bytes it received",
        signing((text) => hmac(withEscapedSlashes(text))),
      ],
      [
        "the signature is right, and the message is rejected with 422",
        { reply: (_, { status }) => (status === 204 ? { status: 422 } : undefined) },
      ],
      [
        "the signature is right, and the handler fails (500)",
        { reply: (_, { status }) => (status === 204 ? { status: 500 } : undefined) },
      ],
    ])("%s", async ([cause, mutation]) => {
      expect(await causes(mutation)).toEqual([`accepts-track: ${cause}`]);
    });

    it.for<[number, string]>([
      [404, "no route accepts POST at /webhooks (404)"],
      [405, "no route accepts POST at /webhooks (405)"],
      [419, "its framework refuses it for want of a CSRF token (419)"],
      [413, "messages of a few hundred bytes are too large for it (413)"],
      [415, "it does not accept Content-Type: application/json (415)"],
      [301, "it redirects (301), and the sender does not follow"],
      [429, "it limits the rate of requests (429)"],
      [500, "it fails before it has checked the signature (500)"],
      [503, "every message gets 503: from the receiver, or from a load balancer while none runs behind it"],
    ])("answering %d", async ([status, cause]) => {
      const oversize = ["rejects-declared-oversize", "rejects-chunked-oversize", "answers-413-to-oversize"];
      const only = ["accepts-track", "accepts-page", "survives-garbage", ...oversize];
      const [first, ...rest] = await results({ reply: () => ({ status }) }, { only });
      expect(first).toMatchObject({ outcome: "failed", failure: { cause } });
      expect(rest.map(({ outcome }) => outcome)).toEqual(Array.from({ length: 5 }, () => "skipped"));
      for (const result of rest) expect(result).toMatchObject({ reason: `accepts-track failed: ${cause}` });
    });
  },
);

it("a receiver that redirects is shown where to, without what is secret", async () => {
  const running = await serve((request, response) => {
    request.resume();
    response.writeHead(308, { Location: `/webhooks/?key=${SECRET}` }).end();
  });
  const { results: found } = await certify({ url: running.url, secret: SECRET, only: ["accepts-track"] });
  await running.close();
  expect(found).toMatchObject([
    {
      failure: {
        received: expect.stringMatching(
          /^308 Permanent Redirect after \d+ ms, Location: \/webhooks\/\?key=\[masked\], no body$/,
        ),
      },
    },
  ]);
});

describe("a receiver behind a proxy", () => {
  /** What is said of a receiver to which a proxy leads. */
  async function told(proxy: RequestListener, ids = ["accepts-track"]): Promise<readonly AuditResult[]> {
    const running = await serve(proxy);
    const { results: found } = await certify({ url: running.url, secret: SECRET, only: ids });
    await running.close();
    return found;
  }

  it("is not told of its secret when the proxy removes X-Signature", async () => {
    const receiver = coreReceiver();
    const found = await told((request, response) => {
      delete request.headers["x-signature"];
      request.rawHeaders = request.rawHeaders.filter(
        (_, index, all) => !/^x-signature$/iu.test(all[index - (index % 2)] ?? ""),
      );
      receiver(request, response);
    });
    expect(found).toMatchObject([
      {
        failure: {
          cause: "X-Signature was sent, and does not reach it",
          fix: expect.stringMatching(/^Let the proxy .* pass the header X-Signature on/),
        },
      },
    ]);
  });

  it("is told who asks for a login, and of its secret only if it does so itself", async () => {
    const found = await told((request, response) => {
      request.resume();
      response.writeHead(401, { "WWW-Authenticate": 'Basic realm="staging"' }).end("<h1>401</h1>");
    });
    expect(found).toMatchObject([
      {
        failure: {
          cause: "something asks for a login (401, WWW-Authenticate: Basic)",
          fix: expect.stringMatching(/^If that is a proxy: .* static header Authorization/),
        },
      },
    ]);
  });

  it.for([502, 504])(
    "is told that it gives no answer, by the %d of the proxy, and nothing else",
    async (status) => {
      const receiver = await handWrittenReceiver({ reply: () => ({ status }) });
      const { results: found } = await certify({ url: receiver.url, secret: SECRET, timeoutMs: 4_000 });
      await receiver.close();
      const [first, ...rest] = found;
      expect(first).toMatchObject({
        failure: { cause: `a proxy gets no answer from the receiver (${status})` },
      });
      for (const result of rest)
        expect(result).toMatchObject({ reason: expect.stringMatching(/accepts-track/u) });
    },
  );

  it.for([502, 503])(
    "gets few requests when the proxy answers each with %d after a time: all audits would take minutes",
    async (status) => {
      let requests = 0;
      const running = await serve((request, response) => {
        requests += 1;
        request.resume();
        setTimeout(() => response.writeHead(status).end("<h1>No server is available</h1>"), 600);
      });
      const { results: found } = await certify({ url: running.url, secret: SECRET, timeoutMs: 3_000 });
      await running.close();
      expect(requests).toBeLessThan(12);
      expect(found.filter(({ outcome }) => outcome === "failed")).toMatchObject([
        { id: "accepts-track", failure: { cause: expect.stringContaining(String(status)) } },
      ]);
      expect(found.filter(({ outcome }) => outcome === "skipped")).toHaveLength(found.length - 1);
    },
  );

  it("is audited on when it answers 503 to authentic messages only, or to forgeries only", async () => {
    const only = ["accepts-track", "rejects-made-up-signature", "rejects-get"];
    const outcomes = async (wrong: number): Promise<readonly string[]> => {
      const found = await results(
        { reply: (_, { status }) => (status === wrong ? { status: 503 } : undefined) },
        { only },
      );
      return found.map(({ outcome }) => outcome);
    };
    expect(await outcomes(204)).toEqual(["failed", "passed", "passed"]);
    expect(await outcomes(401)).toEqual(["passed", "failed", "passed"]);
  });

  it("is told of the handler, not of the proxy, when it answers forgeries", async () => {
    const found = await causes(
      { reply: (_, { status }) => (status === 204 ? { status: 502 } : undefined) },
      { only: ["accepts-track", "rejects-made-up-signature"] },
    );
    expect(found).toEqual(["accepts-track: the signature is right, and the handler fails (502)"]);
  });

  it("is not told to compute a signature only, when it does not run", async () => {
    const found = await told(
      (request, response) => {
        request.resume();
        response.writeHead(502).end("<h1>502 Bad Gateway</h1>");
      },
      ["rejects-made-up-signature"],
    );
    expect(found).toMatchObject([
      { failure: { fix: expect.stringContaining("A proxy got no answer from the receiver") } },
    ]);
  });
});

describe("a receiver with verifyWebhook()", () => {
  /** What reads the body before it, and passes on what it has kept. */
  async function behind(
    keep: (text: string) => object,
    ids: readonly string[],
  ): Promise<readonly AuditResult[]> {
    const receiver = coreReceiver();
    const running = await serve((request, response) => {
      text(request)
        .then((body) => receiver(Object.assign(request, keep(body)), response))
        .catch(() => response.writeHead(400).end());
    });
    const { results: found } = await certify({ url: running.url, secret: SECRET, only: ids });
    await running.close();
    return found.filter(({ outcome }) => outcome === "failed");
  }

  it("is told what reads the body before it, not that its secret may not be set", async () => {
    expect(await behind(() => ({}), ["accepts-track"])).toMatchObject([
      {
        failure: {
          cause: expect.stringContaining("something reads the body before verifyWebhook()"),
          fix: expect.stringMatching(/^Mount verifyWebhook\(\) before what reads the body/),
        },
      },
    ]);
  });

  it("is told to mount it before the parser, not how to write what it does by itself", async () => {
    const ofParser = [
      "accepts-escapes-as-written",
      "accepts-numbers-as-written",
      "rejects-declared-oversize",
      "rejects-chunked-oversize",
      "answers-413-to-oversize",
    ];
    const before = ["accepts-track", "rejects-made-up-signature"];
    const failed = await behind((body) => ({ body: JSON.parse(body) as unknown }), [...before, ...ofParser]);
    expect(failed.map(({ id }) => id)).toEqual(ofParser);
    for (const result of failed) {
      expect(result).toMatchObject({
        failure: { fix: expect.stringMatching(/^verifyWebhook\(\) does so by itself: mount it before/) },
      });
    }
  });
});

it("a receiver without verifyWebhook() is told what to write, also where it answers with codes of its own", async () => {
  const own = JSON.stringify({ error: { code: "ERR_INVALID_ARG_TYPE" } });
  const found = await results(
    { reply: (_seen, { status }) => (status === 415 ? { status: 204 } : { status, body: own }) },
    { only: ["rejects-made-up-signature", "accepts-track", "answers-415-to-other-media-types"] },
  );
  expect(found.at(-1)).toMatchObject({
    outcome: "failed",
    failure: { fix: "Answer 415 when Content-Type is not application/json." },
  });
});

it("a receiver behind a validator that wants a parsed body is told to read what it answers, not only of its secret", async () => {
  const [result] = await results(
    { reply: () => ({ status: 400, body: "request must have required property 'body'" }) },
    { only: ["accepts-track"] },
  );
  expect(result).toMatchObject({
    failure: { fix: expect.stringMatching(/^The body of the response may say what is wrong\./) },
  });
});

it("a receiver whose handler sets no response, for which Koa and Feathers answer 404, is not told of its path", async () => {
  const [result] = await results(
    { reply: (_, { status }) => (status === 204 ? { status: 404 } : undefined) },
    { only: ["accepts-track"] },
  );
  expect(result).toMatchObject({
    failure: {
      cause: "the signature is right, and the handler ends with 404",
      fix: expect.stringContaining("Koa without ctx.status"),
    },
  });
});

describe("a receiver that does not accept the fields of a track message", () => {
  it.for<[string, Mutation["reply"]]>([
    [
      "answers 401 to forgeries",
      ({ text }, { status }) => (status === 204 && hasProperties(text) ? { status: 400 } : undefined),
    ],
    [
      "answers 400 to forgeries, too",
      ({ text }, { status }) =>
        status === 401 || (status === 204 && hasProperties(text)) ? { status: 400 } : undefined,
    ],
  ])("and %s is not told that it serialises JSON again", async ([, reply]) => {
    const found = await causes(reply === undefined ? {} : { reply }, { only: ["accepts-track"] });
    expect(found).toEqual(["accepts-track: the signature is right, and the message is rejected with 400"]);
  });
});

describe("a receiver that fails for every request", () => {
  it("is told how its language misses a secret that is set, since PHP-FPM hides the environment", async () => {
    const [result] = await results(
      { reply: () => ({ status: 500 }) },
      { only: ["accepts-track"], language: "php" },
    );
    expect(result).toMatchObject({ failure: { fix: expect.stringContaining("env[NAME] = $NAME") } });
  });

  it("is not told that anyone can forge messages, and one that accepts every request is", async () => {
    const only = ["rejects-made-up-signature"];
    const fixTo = async (status: number): Promise<unknown> => {
      const [result] = await results({ reply: () => ({ status }) }, { only });
      return result?.outcome === "failed" ? result.failure.fix : undefined;
    };
    expect(await fixTo(500)).not.toContain("anyone can forge messages");
    expect(await fixTo(204)).toContain("anyone can forge messages");
  });
});

describe("a receiver that answers 500 to forgeries", () => {
  const fails: Mutation = { reply: (_, { status }) => (status === 401 ? { status: 500 } : undefined) };

  it("is told to answer 401, not to check the signature, which it does", async () => {
    const [result] = await results(fails, { only: ["rejects-made-up-signature"], language: "php" });
    expect(result).toMatchObject({ failure: { fix: expect.stringMatching(/^Answer 401 when/) } });
    expect(result).not.toMatchObject({ failure: { fix: expect.stringContaining("HMAC") } });
  });

  it("is not told that deep nesting or an empty body is too much for it", async () => {
    expect(
      (await causes(fails)).filter((cause) => !/^(?:rejects-made|answers-|accepts-re-)/.test(cause)),
    ).toEqual([]);
  });
});

it("a receiver that is away for a moment after a forgery nested 15,000 deep, as one that is started again, does not pass for one that fails for any forgery", async () => {
  let isAway = false;
  const [result] = await results(
    {
      reply: ({ request, text }, { status }) => {
        const wasAway = isAway;
        isAway = status === 401 && text.includes("[".repeat(1_000));
        if (isAway || wasAway) request.socket.destroy();
        return undefined;
      },
    },
    { only: ["survives-deep-nesting"] },
  );
  expect(result).toMatchObject({ outcome: "failed" });
});

describe("a receiver in a framework that protects forms against CSRF", () => {
  it.for([
    [403, "<title>403 Forbidden</title><p>CSRF verification failed. Request aborted.</p>"],
    [400, "<h1>Bad Request</h1><p>The CSRF token is missing.</p>"],
    [422, "ActionController::InvalidAuthenticityToken in WebhooksController#create"],
    [403, '{"message":"invalid csrf token"}'],
  ] as const)("is told to exempt the path by its %d: %s", async ([status, body]) => {
    const [result] = await results(
      { reply: () => ({ status, body }) },
      { only: ["accepts-track"], language: "python" },
    );
    expect(result).toMatchObject({
      failure: {
        cause: `its framework refuses it for want of a CSRF token (${status})`,
        fix: expect.stringMatching(/^Exempt this path .*@csrf_exempt/),
      },
    });
  });

  it.for([403, 422])("is told of it by a %d that says nothing, too", async (status) => {
    const [result] = await results(
      { reply: () => ({ status }) },
      { only: ["accepts-track"], language: "ruby" },
    );
    expect(result).toMatchObject({
      failure: { fix: expect.stringMatching(/against CSRF .* skip_forgery_protection/) },
    });
  });
});

it("a receiver that takes no signature for the right one is told how its language reads the header", async () => {
  const fixes = LANGUAGES.map(async (language) => {
    const [result] = await results(
      verifying(() => false),
      { only: ["accepts-track"], language },
    );
    return result?.outcome === "failed" && result.failure.fix;
  });
  for (const fix of await Promise.all(fixes)) expect(fix).toMatch(/the header is \S*x[-_]signature/i);
});

it("a receiver that reads the body a second time, to parse it, is told that it is empty then", async () => {
  const [result] = await results(
    { reply: (_, { status }) => (status === 204 ? { status: 400 } : undefined) },
    { only: ["accepts-track"] },
  );
  expect(result).toMatchObject({ failure: { fix: expect.stringMatching(/read a second time is empty/) } });
});

describe("a receiver that takes track messages only", () => {
  it.for<[string, Mutation["reply"]]>([
    ["answers 404 to others", (_, { status }) => (status === 204 ? { status: 404 } : undefined)],
    ["fails for others", (_, { status }) => (status === 204 ? { status: 500 } : undefined)],
  ])("and %s is told neither of its secret nor of its path", async ([, reply]) => {
    const onlyTrack: Mutation = {
      reply: (seen, right) => (/"type":"track"/.test(seen.text) ? undefined : reply?.(seen, right)),
    };
    const only = ["accepts-track", "accepts-page"];
    const [, page] = await results(onlyTrack, { only, language: "python" });
    expect(page).toMatchObject({
      outcome: "failed",
      failure: { fix: expect.stringMatching(/^Answer 2xx to each of the seven types/) },
    });
  });
});

describe("a receiver that answers 401 to one of the messages", () => {
  it.for(["accepts-page", "accepts-anonymous-message", "accepts-nesting", "accepts-largest-message"])(
    "is told in %s that it has not signed these bytes, not to accept what it never looked at",
    async (id) => {
      const found = await results(
        { reply: (_, { status }) => (status === 204 ? { status: 401 } : undefined) },
        { only: [id], language: "php" },
      );
      expect(found).toMatchObject([
        {
          failure: {
            fix: expect.stringMatching(
              /^It takes this message for a forgery, though not others\. .*php:\/\/input/,
            ),
          },
        },
      ]);
    },
  );
});

describe("a receiver that accepts forgeries", () => {
  it("gets this failure first, and no other forgery is sent", async () => {
    const found = await results(verifying(() => true));
    expect(found.find(({ outcome }) => outcome === "failed")).toMatchObject({
      id: "rejects-made-up-signature",
      failure: { cause: "it accepts forged messages: X-Signature is not checked" },
    });
    expect(found.find(({ id }) => id === "rejects-wrong-secret")).toMatchObject({ outcome: "skipped" });
  });
});

describe("a receiver that accepts forgeries, and whether its code is what answers", () => {
  const only = ["rejects-made-up-signature"];
  const notRunning = expect.stringMatching(/may not run.*php -l/);

  it("is asked when a GET is accepted, too: PHP's server answers 200 to all if a file has a syntax error", async () => {
    const [result] = await results({ reply: () => ({ status: 200 }) }, { only });
    expect(result).toMatchObject({ failure: { fix: notRunning } });
  });

  it("is not asked when a GET is rejected", async () => {
    const [result] = await results(
      verifying(() => true),
      { only },
    );
    expect(result).toMatchObject({ outcome: "failed" });
    expect(result).not.toMatchObject({ failure: { fix: notRunning } });
  });
});

describe("a receiver that answers 200 to a forgery", () => {
  const only = ["rejects-made-up-signature"];

  it("and says in the body that it is one, is told to answer 401, not to check the signature", async () => {
    const [result] = await results(
      { reply: (_, { status }) => (status === 401 ? { status: 200, body: "invalid signature" } : undefined) },
      { only },
    );
    expect(result).toMatchObject({
      failure: {
        cause: "its answer to a forged message means accepted, whatever the body says",
        fix: expect.stringMatching(/^Answer 401 when the signature is wrong/),
      },
    });
  });

  it("and another body to every message, is told that it checks nothing", async () => {
    const [result] = await results({ reply: ({ text }) => ({ status: 200, body: text }) }, { only });
    expect(result).toMatchObject({
      failure: { cause: "it accepts forged messages: X-Signature is not checked" },
    });
  });
});

describe("a fix", () => {
  it.each(LANGUAGES)(
    "for %s names what that language has, and for no language nothing of any",
    async (language) => {
      const [told, plain] = await Promise.all(
        [language, undefined].map((given) =>
          results(
            signing((text) => hmac(text, "other")),
            { only: ["accepts-track"], language: given },
          ),
        ),
      );
      const fixes = [told, plain].map((found) => {
        const [result] = found ?? [];
        return result?.outcome === "failed" ? result.failure.fix : "";
      });
      expect(fixes[0]?.startsWith(`${fixes[1]} In `)).toBe(true);
      expect(fixes[1]).not.toMatch(
        /createHmac|hmac\.new|hash_hmac|HMAC\.hexdigest|Mac\.getInstance|JSON\.stringify/,
      );
    },
  );
});

describe("advice for Python that was followed to the letter", () => {
  it.for<[string, Mutation["reply"], RegExp]>([
    [
      "accepts-chunked-body",
      ({ request }) => (request.headers["transfer-encoding"] ? { status: 401 } : undefined),
      /read\(\) without a length never ends in http\.server/,
    ],
    [
      "accepts-upper-case-signature",
      ({ signature = "" }) => (/[A-F]/.test(signature) ? { status: 401 } : undefined),
      /compare_digest\(digest, header\.lower\(\)\)/,
    ],
  ])("neither hangs nor fails the same audit again: %s", async ([id, reply, words]) => {
    const [result] = await results(reply === undefined ? {} : { reply }, { only: [id], language: "python" });
    expect(result).toMatchObject({ failure: { fix: expect.stringMatching(words) } });
  });
});

describe("advice that follows what a language does", () => {
  it.for<[Language, string, number, RegExp]>([
    ["php", "accepts-lone-surrogates", 400, /JSON_ERROR_UTF16/],
    ["ruby", "accepts-lone-surrogates", 400, /replace such an escape with \\ufffd/],
    ["java", "rejects-invalid-json", 204, /FAIL_ON_TRAILING_TOKENS/],
    ["go", "rejects-invalid-json", 204, /which json\.Decoder leaves unread/],
    ["php", "accepts-chunked-body", 401, /proxy-sendcl=1 in Apache/],
    ["php", "rejects-declared-oversize", 204, /no limit for what it passes on to PHP-FPM/],
  ])("in %s for %s", async ([language, id, status, words]) => {
    const [result] = await results({ reply: () => ({ status }) }, { only: [id], language });
    expect(result).toMatchObject({ failure: { fix: expect.stringMatching(words) } });
  });
});

describe("a slow receiver", () => {
  it("gets its verdict from three answers, and everything left is skipped for it", async () => {
    const found = await results({
      async reply() {
        await new Promise((resolve) => {
          setTimeout(resolve, 5_050);
        });
        return undefined;
      },
    });
    const failed = found.filter(({ outcome }) => outcome === "failed");
    expect(failed).toMatchObject([
      {
        id: "answers-within-5-seconds",
        failure: { cause: expect.stringMatching(/^answered after [5-9]\.\d s; the sender gives up at 5 s$/) },
      },
    ]);
    expect(found.filter(({ outcome }) => outcome === "passed").length).toBeLessThanOrEqual(3);
    expect(found.find(({ id }) => id === "rejects-get")).toMatchObject({
      outcome: "skipped",
      reason: expect.stringMatching(
        /^the receiver is too slow: answered after [5-9]\.\d s; the sender gives up at 5 s$/,
      ),
    });
  }, 60_000);
});

it("finds the cause on a machine in FIPS mode, which has no MD5", async () => {
  const original = crypto.createHmac;
  crypto.createHmac = (algorithm, ...more) => {
    if (algorithm === "md5") throw new Error("error:0308010C:digital envelope routines::unsupported");
    return original(algorithm, ...more);
  };
  syncBuiltinESMExports();
  onTestFinished(() => {
    crypto.createHmac = original;
    syncBuiltinESMExports();
  });
  expect(await causes(signing((text) => original("sha1", `"${SECRET}"`).update(text).digest("hex")))).toEqual(
    [expect.stringContaining("its secret is in quotes")],
  );
});
