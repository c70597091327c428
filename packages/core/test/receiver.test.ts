import { Buffer } from "node:buffer";
import {
  createReceiver,
  memoryDedupe,
  sign,
  toProblem,
  WebhookError,
  type ReceiverOptions,
  type Secrets,
  type WebhookRequest,
} from "@countersign/core";
import { mutations, sampleMessages, signedRequest } from "@countersign/core/testing";
import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { SECRET, webhookRequest, type AppRequest } from "./support/requests.ts";
import { nextWarning } from "./support/next-warning.ts";

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

type Read = Extract<WebhookRequest["body"], { from: "stream" }>["read"];

const rejected = (code: string): object => ({ verdict: "rejected", error: { code } });

describe("a correct request", () => {
  it.each(Object.values(sampleMessages))("is verified, its $type typed", async (message) => {
    const received = await createReceiver({ secret: SECRET }).receive(webhookRequest({ message }));
    const { headers, body } = signedRequest(message, SECRET);
    expect(received).toMatchObject({
      verdict: "verified",
      webhook: {
        message,
        rawBody: body,
        signature: headers["x-signature"],
        secretIndex: 0,
        verifiedOver: "bytes",
      },
    });
  });

  it("carries no response; every other verdict has the one to send", async () => {
    const receiver = createReceiver({ secret: SECRET, dedupe: memoryDedupe() });
    const first = await receiver.receive(webhookRequest());
    expect(first).not.toHaveProperty("response");
    const during = await receiver.receive(webhookRequest());
    if (first.verdict !== "verified" || during.verdict !== "rejected") throw new Error(during.verdict);
    expect(during.response).toEqual(toProblem(during.error));
    await first.settle(204);
    expect(await receiver.receive(webhookRequest())).toMatchObject({
      verdict: "duplicate",
      response: { status: 200, headers: {}, body: "" },
    });
  });

  it.each(["Content-Type", "CONTENT-TYPE", "cOntent-tYpe"])(
    "may have headers in any case, as API Gateway and ALB send them: %s",
    async (contentType) => {
      const { "content-type": type = "", "x-signature": signature = "" } = signedRequest(
        sampleMessages.track,
        SECRET,
      ).headers;
      const headers = { [contentType]: type, "X-Signature": signature, Host: "example.com" };
      const request = { ...webhookRequest(), headers };
      expect(await createReceiver({ secret: SECRET }).receive(request)).toMatchObject({
        verdict: "verified",
      });
      const twice = { ...request, headers: { ...headers, "x-signature": signature } };
      expect(await createReceiver({ secret: SECRET }).receive(twice)).toMatchObject(
        rejected("ERR_SIGNATURE_MALFORMED"),
      );
    },
  );

  it("may have headers that are no text, as platforms give them: a number, and null for none", async () => {
    const request = webhookRequest();
    const headers = {
      ...request.headers,
      "content-length": 4_096,
      "content-encoding": null,
    } as unknown as WebhookRequest["headers"];
    const receiver = createReceiver({ secret: SECRET, maxBodyBytes: 4_096 });
    expect(await receiver.receive({ ...request, headers })).toMatchObject({ verdict: "verified" });
    const tooSmall = createReceiver({ secret: SECRET, maxBodyBytes: 4_095, onRejected() {} });
    expect(await tooSmall.receive({ ...request, headers })).toMatchObject(rejected("ERR_BODY_TOO_LARGE"));
  });

  it("may have web-standard headers", async () => {
    const request = webhookRequest();
    const headers = new Headers(Object.entries(signedRequest(sampleMessages.track, SECRET).headers));
    expect(await createReceiver({ secret: SECRET }).receive({ ...request, headers })).toMatchObject({
      verdict: "verified",
    });
  });

  it.each([
    ["a charset", "application/json; charset=utf-8"],
    ["a charset in capitals and quotes", 'Application/JSON;Charset="UTF-8"'],
    ["another parameter", "application/json; profile=x"],
    ["a JSON suffix", "application/cloudevents+json"],
  ])("may have %s in its media type", async (_case, type) => {
    const request = webhookRequest({ headers: { "content-type": type } });
    expect(await createReceiver({ secret: SECRET }).receive(request)).toMatchObject({ verdict: "verified" });
  });

  it("may say that it has no content encoding", async () => {
    const request = webhookRequest({ headers: { "content-encoding": " Identity " } });
    expect(await createReceiver({ secret: SECRET }).receive(request)).toMatchObject({ verdict: "verified" });
  });

  it("verifies re-spaced JSON, unless strict", async () => {
    const { body, headers } = mutations.reSpaced(signedRequest(sampleMessages.track, SECRET));
    const request = webhookRequest({ headers, body: { from: "raw", value: body } });
    expect(await createReceiver({ secret: SECRET }).receive(request)).toMatchObject({
      webhook: {
        message: sampleMessages.track,
        rawBody: Buffer.from(JSON.stringify(sampleMessages.track)),
        receivedBody: body,
        verifiedOver: "json",
      },
    });
    expect(await createReceiver({ secret: SECRET, strict: true }).receive(request)).toMatchObject(
      rejected("ERR_SIGNATURE_MISMATCH"),
    );
  });
});

describe("the order of checks", () => {
  it("is cheapest first: each fault shows only after those before it are fixed", async () => {
    const read = vi.fn<Read>(() => Promise.resolve(Uint8Array.of(0xff)));
    const secretFor = vi.fn<() => string>(() => "secret");
    const receiver = createReceiver({ secret: secretFor, maxBodyBytes: 1_000 });
    let request: WebhookRequest = {
      method: "PUT",
      headers: { "content-type": "text/plain", "content-encoding": "gzip", "content-length": "1001" },
      body: { from: "stream", read },
      request: undefined,
    };
    const code = async (): Promise<string> => {
      const received = await receiver.receive(request);
      return received.verdict === "rejected" ? received.error.code : received.verdict;
    };
    const mend = (headers: Record<string, string>): void => {
      request = { ...request, headers: { ...request.headers, ...headers } };
    };

    expect(await code()).toBe("ERR_METHOD_NOT_ALLOWED");
    request = { ...request, method: "POST" };
    expect(await code()).toBe("ERR_MEDIA_TYPE");
    mend({ "content-type": "application/json" });
    expect(await code()).toBe("ERR_CONTENT_ENCODING");
    mend({ "content-encoding": "identity" });
    expect(await code()).toBe("ERR_BODY_TOO_LARGE");
    mend({ "content-length": "1000" });
    expect(await code()).toBe("ERR_SIGNATURE_MISSING");
    mend({ "x-signature": "short" });
    expect(await code()).toBe("ERR_SIGNATURE_MALFORMED");
    expect(secretFor).not.toHaveBeenCalled();
    expect(read).not.toHaveBeenCalled();

    mend({ "x-signature": "0".repeat(40) });
    expect(await code()).toBe("ERR_SIGNATURE_MISMATCH");
    expect(read).toHaveBeenCalledExactlyOnceWith({ maxBytes: 1_000 });
    mend({ "x-signature": sign(Uint8Array.of(0xff), "secret") });
    expect(await code()).toBe("ERR_INVALID_UTF8");
    const bodies: [code: string, body: string][] = [
      ["ERR_INVALID_JSON", "{"],
      ["ERR_BATCH_UNSUPPORTED", "[]"],
      ["ERR_UNKNOWN_TYPE", '{"type":"purchase"}'],
      ["ERR_INVALID_MESSAGE", '{"type":"track"}'],
    ];
    for (const [expected, body] of bodies) {
      read.mockResolvedValue(Buffer.from(body));
      mend({ "x-signature": sign(body, "secret") });
      expect(await code()).toBe(expected);
    }
  });

  it("does not parse a body that is not verified", async () => {
    const parse = vi.spyOn(JSON, "parse");
    const forged = webhookRequest({ signedWith: "another secret" });
    expect(await createReceiver({ secret: SECRET, strict: true }).receive(forged)).toMatchObject(
      rejected("ERR_SIGNATURE_MISMATCH"),
    );
    expect(parse).not.toHaveBeenCalled();

    expect(await createReceiver({ secret: SECRET, strict: true }).receive(webhookRequest())).toMatchObject({
      verdict: "verified",
    });
    expect(parse).toHaveBeenCalledOnce();
  });

  it("does not parse a body beyond the limit, even if it was read before", async () => {
    const parse = vi.spyOn(JSON, "parse");
    const receiver = createReceiver({ secret: SECRET, maxBodyBytes: 100 });
    const value = JSON.stringify(sampleMessages.track);
    for (const body of [
      { from: "raw", value },
      { from: "parsed", value: sampleMessages.track },
    ] as const) {
      expect(await receiver.receive(webhookRequest({ body }))).toMatchObject(rejected("ERR_BODY_TOO_LARGE"));
    }
    expect(parse).not.toHaveBeenCalled();
  });

  it("takes maxBodyBytes as the largest body that is accepted, wherever it comes from", async () => {
    const message = sampleMessages.track;
    const { body: bytes } = signedRequest(message, SECRET);
    const bodies: readonly WebhookRequest["body"][] = [
      { from: "stream", read: () => Promise.resolve(bytes) },
      { from: "raw", value: bytes },
      { from: "raw", value: Buffer.from(bytes).toString() },
      { from: "parsed", value: message },
    ];
    const headers = { "content-length": undefined };
    for (const body of bodies) {
      const request = webhookRequest({ message, headers, body });
      const receive = (maxBodyBytes: number): Promise<unknown> =>
        createReceiver({ secret: SECRET, maxBodyBytes }).receive(request);
      expect(await receive(bytes.length)).toMatchObject({ verdict: "verified" });
      expect(await receive(bytes.length - 1)).toMatchObject(rejected("ERR_BODY_TOO_LARGE"));
    }
  });
});

describe("a request refused by its head", () => {
  it.each([
    ["a method", { method: "GET" }, "ERR_METHOD_NOT_ALLOWED"],
    ["no media type", { headers: { "content-type": undefined } }, "ERR_MEDIA_TYPE"],
    ["a form", { headers: { "content-type": "application/x-www-form-urlencoded" } }, "ERR_MEDIA_TYPE"],
    ["text that looks like JSON's", { headers: { "content-type": "application/jsonp" } }, "ERR_MEDIA_TYPE"],
    [
      "another charset",
      { headers: { "content-type": "application/json; charset=latin1" } },
      "ERR_MEDIA_TYPE",
    ],
    [
      "two charsets",
      { headers: { "content-type": "application/json; charset=utf-8; charset=utf-16" } },
      "ERR_MEDIA_TYPE",
    ],
    ["JSON second", { headers: { "content-type": "text/plain, application/json" } }, "ERR_MEDIA_TYPE"],
    ["nothing first", { headers: { "content-type": ", application/json" } }, "ERR_MEDIA_TYPE"],
    ["gzip", { headers: { "content-encoding": "gzip" } }, "ERR_CONTENT_ENCODING"],
    ["gzip after identity", { headers: { "content-encoding": "identity, gzip" } }, "ERR_CONTENT_ENCODING"],
    ["a length beyond 1 MiB", { headers: { "content-length": "1048577" } }, "ERR_BODY_TOO_LARGE"],
    ["a length beyond counting", { headers: { "content-length": "9".repeat(400) } }, "ERR_BODY_TOO_LARGE"],
    [
      "a repeated signature",
      { headers: { "x-signature": `${"0".repeat(40)}, ${"0".repeat(40)}` } },
      "ERR_SIGNATURE_MALFORMED",
    ],
    ["10 KB of signature", { headers: { "x-signature": "a".repeat(10_240) } }, "ERR_SIGNATURE_MALFORMED"],
  ])("%s", async (_case, parts, code) => {
    const read = vi.fn<Read>();
    const request = webhookRequest({ ...parts, body: { from: "stream", read } });
    expect(await createReceiver({ secret: SECRET }).receive(request)).toMatchObject(rejected(code));
    expect(read).not.toHaveBeenCalled();
  });

  it.each([
    "application/json, application/json",
    "application/json; charset=utf-8, text/plain; charset=latin1",
  ])("takes the first of several media types, which is all that Node gives: %s", async (type) => {
    const request = webhookRequest({ headers: { "content-type": type } });
    expect(await createReceiver({ secret: SECRET }).receive(request)).toMatchObject({ verdict: "verified" });
  });

  it("counts a length of exactly the limit as within it", async () => {
    const request = webhookRequest({ headers: { "content-length": "1048576" } });
    expect(await createReceiver({ secret: SECRET }).receive(request)).toMatchObject({ verdict: "verified" });
  });

  it("never rejects, whatever the headers hold", async () => {
    const header = fc.oneof(fc.string({ unit: "binary" }), fc.constant(undefined));
    const names = ["content-type", "content-encoding", "content-length", "x-signature"];
    await fc.assert(
      fc.asyncProperty(fc.tuple(header, header, header, header), async (values) => {
        const headers = Object.fromEntries(names.map((name, index) => [name, values[index]]));
        const received = await createReceiver({ secret: SECRET }).receive(webhookRequest({ headers }));
        expect(received.verdict).toBe("rejected");
      }),
    );
  });
});

describe("the secret", () => {
  const verdictOf = async (
    option: ReceiverOptions<AppRequest>["secret"],
    signedWith: string,
  ): Promise<unknown> => {
    const receiver = createReceiver(option === undefined ? {} : { secret: option });
    const received = await receiver.receive(webhookRequest({ signedWith, tenant: "acme" }));
    return received.verdict === "rejected" ? received.error.code : received.webhook.secretIndex;
  };

  it("may be a list: secretIndex says which of them matched", async () => {
    expect(await verdictOf(["new", "old"], "new")).toBe(0);
    expect(await verdictOf(["new", "old"], "old")).toBe(1);
    expect(await verdictOf(["new", "old"], "older")).toBe("ERR_SIGNATURE_MISMATCH");
  });

  it("may be a function of the request, synchronous or not", async () => {
    const secrets: Record<string, Secrets> = { acme: ["acme-new", "acme-old"] };
    expect(await verdictOf(({ tenant }) => secrets[tenant], "acme-old")).toBe(1);
    expect(await verdictOf(({ tenant }) => Promise.resolve(secrets[tenant]), "acme-new")).toBe(0);
    expect(await verdictOf(({ tenant }) => Promise.resolve(secrets[tenant]), "other")).toBe(
      "ERR_SIGNATURE_MISMATCH",
    );
  });

  it.each([
    ["undefined", undefined],
    ["null", null],
    ["an empty list", []],
    ["a tenant without a secret", { secret: undefined, tenant: "acme" }],
  ])("refuses a request for which the function gives %s, before its body is read", async (_case, none) => {
    const read = vi.fn<Read>();
    const receiver = createReceiver({ secret: () => none });
    expect(await receiver.receive(webhookRequest({ body: { from: "stream", read } }))).toMatchObject({
      verdict: "rejected",
      error: {
        code: "ERR_SIGNATURE_MISMATCH",
        hint: "The secret function returned no secret for this request.",
      },
    });
    expect(read).not.toHaveBeenCalled();
  });

  it("rejects with what the function throws: the app's own failure is not a forgery", async () => {
    const failing = createReceiver({ secret: () => Promise.reject(new Error("database down")) });
    await expect(failing.receive(webhookRequest())).rejects.toThrow("database down");
    const wrong = [[""], " ", { secret: [" "], tenant: "acme" }, { secret: SECRET, tenant: "" }];
    for (const result of wrong) {
      const receiving = createReceiver({ secret: () => result }).receive(webhookRequest());
      await expect(receiving).rejects.toThrow(TypeError);
    }
  });

  it.each([
    ["an empty text", ""],
    ["a tenant with an empty text", { secret: "", tenant: "acme" }],
  ])(
    "fails, so that the message is sent again, where the function gives %s: a variable is not set",
    async (_case, empty) => {
      const onRejected = vi.fn<() => void>();
      const receiving = createReceiver({ secret: () => empty, onRejected }).receive(webhookRequest());
      await expect(receiving).rejects.toThrow(
        "The secret function returned an empty text. Set the variable that it comes from.",
      );
      expect(onRejected).not.toHaveBeenCalled();
    },
  );

  it("comes from WEBHOOK_SECRET by default", async () => {
    vi.stubEnv("WEBHOOK_SECRET", "from the environment");
    expect(await verdictOf(undefined, "from the environment")).toBe(0);
    expect(await verdictOf("from the option", "from the option")).toBe(0);
    expect(await verdictOf("from the option", "from the environment")).toBe("ERR_SIGNATURE_MISMATCH");
  });

  it("may be left out with unsigned", async () => {
    vi.stubEnv("WEBHOOK_SECRET", "ignored");
    const receiver = createReceiver({ unsigned: true });
    const request = webhookRequest({ headers: { "x-signature": undefined } });
    expect(await receiver.receive(request)).toMatchObject({
      verdict: "verified",
      webhook: { signature: undefined, secretIndex: -1, verifiedOver: "none" },
    });
    const invalid = webhookRequest({ message: "{", headers: { "x-signature": undefined } });
    expect(await receiver.receive(invalid)).toMatchObject(rejected("ERR_INVALID_JSON"));
  });

  it.each([
    ["ERR_INVALID_JSON", "{"],
    ["ERR_INVALID_UTF8", Uint8Array.of(0x22, 0xff, 0x22)],
  ])("with unsigned, %s does not claim that the body is signed", async (code, message) => {
    const onRejected = vi.fn<(error: WebhookError) => void>();
    const receiver = createReceiver({ unsigned: true, onRejected });
    await receiver.receive(webhookRequest({ message, headers: { "x-signature": undefined } }));
    expect(onRejected.mock.lastCall?.[0]).toMatchObject({
      code,
      hint: expect.stringMatching(/^If a signature is required, it matches\./),
    });
  });
});

describe("createReceiver", () => {
  const secretMissing = /needs a secret: pass \{ secret \}, or set the environment variable WEBHOOK_SECRET/;
  const guessable =
    /must not be white space, "undefined", "null" or the name of a variable: set the variable that it comes from\.$/;
  const cases: [name: string, options: unknown, message: RegExp][] = [
    ["no options", undefined, secretMissing],
    ["no secret", {}, secretMissing],
    ["an undefined secret", { secret: undefined }, secretMissing],
    ["an empty secret", { secret: "" }, secretMissing],
    ["an empty list", { secret: [] }, /non-empty list/],
    ["an empty secret in a list", { secret: ["a", ""] }, /non-empty string, but is empty/],
    ["a secret that is a number", { secret: 42 }, /non-empty string/],
    ["unsigned together with a secret", { unsigned: true, secret: SECRET }, /contradict/],
    ["unsigned as text", { unsigned: "false" }, /option unsigned must be a boolean, but is a string/],
    ["strict as text", { secret: SECRET, strict: "false" }, /option strict must be a boolean/],
    [
      "allowUnknownTypes as text",
      { secret: SECRET, allowUnknownTypes: "no" },
      /option allowUnknownTypes must be a boolean/,
    ],
    [
      "a size as text",
      { secret: SECRET, maxBodyBytes: "1mb" },
      /option maxBodyBytes must be a positive number of bytes, but is 1mb/,
    ],
    ["a size of zero", { secret: SECRET, maxBodyBytes: 0 }, /option maxBodyBytes/],
    ["a size that is no number", { secret: SECRET, maxBodyBytes: Number.NaN }, /option maxBodyBytes/],
    ["an empty retired secret", { secret: SECRET, retiredSecrets: [""] }, /non-empty string/],
    [
      "a secret that is both accepted and retired",
      { secret: ["new", "old"], retiredSecrets: ["older", "old"] },
      /in secret and in retiredSecrets.*Remove it from one/,
    ],
    [
      "retired secrets that are no list",
      { secret: SECRET, retiredSecrets: "old" },
      /retiredSecrets must be a list/,
    ],
    [
      "schemas that are not defined as events",
      { secret: SECRET, events: { Bought: {} } },
      /events must come from defineEvents/,
    ],
    [
      "a dedupe store without methods",
      { secret: SECRET, dedupe: new Map() },
      /option dedupe.*claim\(\) is missing/,
    ],
    ["a dedupe that is true", { secret: SECRET, dedupe: true }, /option dedupe/],
    [
      "a hook that is no function",
      { secret: SECRET, onRejected: true },
      /option onRejected must be a function/,
    ],
    [
      "another hook that is no function",
      { secret: SECRET, onVerified: {} },
      /option onVerified must be a function/,
    ],
    [
      "an option that does not exist",
      { secret: SECRET, stict: true },
      /unknown option "stict"; did you mean "strict"\?/,
    ],
    [
      "the secret under its old name",
      { sharedSecret: SECRET },
      /unknown option "sharedSecret": it is called secret here/,
    ],
    ["a secret of white space", { secret: " \t\n" }, guessable],
    ["a secret that a variable without a value became", { secret: "undefined" }, guessable],
    ["a secret that is the text of null", { secret: ["a", "null\n"] }, guessable],
    ["a secret that is a variable in quotes", { secret: "${WEBHOOK_SECRET}" }, guessable],
    ["a secret that is a variable in single quotes", { secret: ["a", "$WEBHOOK_SECRET\n"] }, guessable],
    ["a secret that is a variable with a number", { secret: "$WEBHOOK_SECRET_2" }, guessable],
    ["a secret that is a variable that Kubernetes does not know", { secret: "$(WEBHOOK_SECRET)" }, guessable],
    ["a secret of white space in a list", { secret: ["a", " "] }, guessable],
    [
      "an invalidEvents it does not know",
      { secret: SECRET, invalidEvents: "ignore" },
      /"reject" or "report"/,
    ],
    ["a misspelt secret", { secrets: "a" }, /unknown option "secrets": pass the list as "secret"/],
    [
      "a secret in the place of the options",
      SECRET,
      /takes an options object, \{ secret, .* \}, not a string\./,
    ],
    ["null", null, /takes an options object, \{ secret, .* \}, not null\./],
    [
      "a request, where the middleware was not made first",
      { headers: {} },
      /Call the function, and mount what it/,
    ],
    [
      "an onError it does not know",
      { secret: SECRET, onError: "next" },
      /onError must be "answer" or "throw"/,
    ],
  ];

  it.each(cases)("throws a TypeError for %s", (_case, options, message) => {
    vi.stubEnv("WEBHOOK_SECRET", undefined);
    const create = (): unknown => createReceiver(options as ReceiverOptions);
    expect(create).toThrow(TypeError);
    expect(create).toThrow(message);
  });

  it("takes a secret that only looks like a variable's name", () => {
    for (const secret of ["$2b$10$kq", "{secret}", "pa$WORD", "undefined0", "nullify", "$ecret"]) {
      expect(createReceiver({ secret })).toBeDefined();
    }
  });

  it("never quotes what is given in the place of the options: it may be the secret", () => {
    vi.stubEnv("WEBHOOK_SECRET", undefined);
    for (const options of ["hush-hush", ["hush-hush"]]) {
      const create = (): unknown => createReceiver(options as ReceiverOptions);
      expect(create).toThrow(TypeError);
      expect(create).not.toThrow(/hush/);
    }
  });

  it("warns of a secret with white space around it, as a file's last newline", async () => {
    const warned = nextWarning("COUNTERSIGN_SECRET");
    createReceiver({ secret: "hush-hush\n" });
    expect(String(await warned)).not.toContain("hush");
  });

  it("throws for an empty WEBHOOK_SECRET", () => {
    vi.stubEnv("WEBHOOK_SECRET", "");
    expect(() => createReceiver()).toThrow(secretMissing);
  });
});

describe("a body that was read before", () => {
  const text = JSON.stringify(sampleMessages.track);
  const receiver = createReceiver({ secret: SECRET });
  const strict = createReceiver({ secret: SECRET, strict: true });

  it.each([
    ["bytes", Buffer.from(text)],
    ["text", text],
  ])("verifies by the %s that were kept, strict or not", async (_case, value) => {
    for (const one of [receiver, strict]) {
      expect(await one.receive(webhookRequest({ body: { from: "raw", value } }))).toMatchObject({
        verdict: "verified",
        webhook: { message: sampleMessages.track, verifiedOver: "bytes" },
      });
    }
  });

  it("verifies the parsed value serialised again, and passes on the message parsed from that string", async () => {
    // What JSON.stringify leaves out or writes otherwise was not signed: -0, undefined, toJSON().
    const value = {
      ...(JSON.parse(text) as object),
      zero: -0,
      unsigned: undefined,
      time: { toJSON: () => "written" },
    };
    const covered = JSON.stringify(value);
    const received = await receiver.receive(
      webhookRequest({ message: covered, body: { from: "parsed", value } }),
    );
    if (received.verdict !== "verified") throw new Error(received.verdict);
    const { message, rawBody, receivedBody, verifiedOver } = received.webhook;
    expect(message).toStrictEqual({ ...sampleMessages.track, zero: 0, time: "written" });
    expect(verifiedOver).toBe("json");
    expect(Buffer.from(rawBody).toString()).toBe(covered);
    expect(receivedBody).toBeUndefined();
  });

  it("does not take a parsed value for the bytes when strict", async () => {
    const body = { from: "parsed", value: sampleMessages.track, hint: "mount it first" } as const;
    expect(await strict.receive(webhookRequest({ body }))).toMatchObject({
      error: {
        code: "ERR_BODY_ALREADY_READ",
        status: 500,
        hint: "Only a parsed body was kept, and with strict only the exact bytes count. mount it first",
      },
    });
  });

  it("says what to change if the body was not kept", async () => {
    const named = webhookRequest({ body: { from: "gone", hint: "mount it first" } });
    expect(await receiver.receive(named)).toMatchObject({
      error: { code: "ERR_BODY_ALREADY_READ", hint: "mount it first" },
    });
    const unnamed = webhookRequest({ body: { from: "gone" } });
    expect(await receiver.receive(unnamed)).toMatchObject({
      error: { code: "ERR_BODY_ALREADY_READ", hint: expect.stringContaining("rawBody") as string },
    });
  });

  it("is the app's mistake if the value cannot be written again", async () => {
    const circular: Record<string, unknown> = {};
    circular["self"] = circular;
    for (const value of [circular, { big: 1n }]) {
      expect(await receiver.receive(webhookRequest({ body: { from: "parsed", value } }))).toMatchObject(
        rejected("ERR_BODY_ALREADY_READ"),
      );
    }
  });

  it("refuses a value too deep to be written again, as a mismatch", async () => {
    const value: unknown = JSON.parse("[".repeat(500_000) + "]".repeat(500_000));
    expect(await receiver.receive(webhookRequest({ body: { from: "parsed", value } }))).toMatchObject(
      rejected("ERR_SIGNATURE_MISMATCH"),
    );
  });

  it("refuses a parsed 1e400 under a signature over null", async () => {
    const message = { ...sampleMessages.track, properties: { limit: null } };
    const value: unknown = JSON.parse(JSON.stringify(message).replace("null", "1e400"));
    expect(JSON.stringify(value)).toBe(JSON.stringify(message));
    const request = webhookRequest({ message, body: { from: "parsed", value } });
    expect(await receiver.receive(request)).toMatchObject(rejected("ERR_SIGNATURE_MISMATCH"));
  });

  it("refuses with the error that ended the reading", async () => {
    const read = (): Promise<never> => Promise.reject(new WebhookError("ERR_BODY_ABORTED"));
    expect(await receiver.receive(webhookRequest({ body: { from: "stream", read } }))).toMatchObject(
      rejected("ERR_BODY_ABORTED"),
    );
  });
});
