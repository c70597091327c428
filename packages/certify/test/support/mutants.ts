import { createHmac } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { MessageType } from "@countersign/core";
import { verifySignature } from "@countersign/core";
import type { Mutation, Reply, Seen } from "./hand-written-receiver.ts";
import { SECRET } from "./listen.ts";

/** A receiver with one thing wrong, and the audits that must find it. */
export interface Mutant {
  readonly what: string;
  readonly mutation: Mutation;
  /** Audits that this mistake cannot but fail too. */
  readonly also?: readonly string[];
  /** How long certify waits for its answers, in ms. */
  readonly timeoutMs?: number;
}

const OK: Reply = { status: 204 };
const BAD_REQUEST: Reply = { status: 400 };
const UNAUTHORIZED: Reply = { status: 401 };
const CRASH: Reply = { status: 500 };

/** For each audit the mistake that it must find. */
export const mutants: Readonly<Record<string, Mutant>> = {
  // The slow ones come first, so that the others run beside them.
  "answers-within-5-seconds": {
    what: "takes six seconds over a delete message",
    mutation: slowAtLast(),
  },
  "survives-slow-body": { what: "serves one request at a time", mutation: oneAtATime() },
  "accepts-twenty-at-once": { what: "serves ten at a time", mutation: tenAtATime() },
  "accepts-leading-zeros": {
    what: "writes hex without leading zeros",
    mutation: refuses(({ signature = "" }) => /^(?:..)*0./.test(signature), UNAUTHORIZED),
  },
  "rejects-made-up-signature": {
    what: "accepts some digits of its own",
    mutation: accepts(({ signature }) => signature === "0123456789abcdef0123456789abcdef01234567"),
  },
  ...refusingTypes("page", "screen", "identify", "alias", "group", "delete"),
  "accepts-anonymous-message": {
    what: "requires a userId",
    mutation: refuses(({ json }) => field(json, "userId") === null, BAD_REQUEST),
  },
  "accepts-unknown-fields": {
    what: "drops unknown fields, then signs what is left",
    mutation: refuses(({ json }) => field(json, "channel") !== undefined, UNAUTHORIZED),
  },
  "accepts-unicode": {
    what: "decodes the body as Latin-1",
    mutation: refuses(({ bytes }) => bytes.toString("latin1") !== bytes.toString("utf8"), UNAUTHORIZED),
    also: ["accepts-split-body"],
  },
  "accepts-escapes": {
    what: "signs JSON written with <, > and & escaped",
    mutation: refuses(({ text }) => /[<>&]/.test(text), UNAUTHORIZED),
  },
  "accepts-numbers": {
    what: "signs JSON whose exponents have two digits",
    mutation: refuses(({ text }) => hasElement(text, "1e-7"), UNAUTHORIZED),
  },
  "accepts-prototype-keys": {
    what: "refuses __proto__",
    mutation: refuses(({ text }) => text.includes('"__proto__"'), BAD_REQUEST),
  },
  "accepts-nesting": {
    what: "parses 32 levels",
    mutation: refuses(({ text }) => /(\{"a":){33}/.test(text), BAD_REQUEST),
  },
  "accepts-largest-message": {
    what: "takes 63 KiB",
    mutation: refuses(({ bytes }) => bytes.length > 63 * 1024, { status: 413 }),
  },
  "accepts-lone-surrogates": {
    what: "parses strings only into Unicode scalars",
    mutation: refuses(({ text }) => text.includes(String.raw`\ud83d"`), BAD_REQUEST),
  },
  "accepts-escapes-as-written": {
    what: "signs parsed text again",
    mutation: refuses(({ text }) => text.includes(String.raw`\/`), UNAUTHORIZED),
  },
  "accepts-numbers-as-written": {
    what: "signs parsed numbers again",
    mutation: refuses(({ text }) => hasElement(text, "1e21"), UNAUTHORIZED),
  },
  "accepts-split-body": {
    what: "decodes each piece by itself",
    mutation: refuses(({ chunks, text }) => chunks.map(String).join("") !== text, UNAUTHORIZED),
  },
  "accepts-chunked-body": {
    what: "wants a Content-Length",
    mutation: refuses(({ request }) => request.headers["content-length"] === undefined, { status: 411 }),
  },
  "accepts-expect-continue": {
    what: "refuses Expect",
    mutation: {
      setUp: (server) => server.on("checkContinue", (_, response) => response.writeHead(417).end()),
    },
  },
  "accepts-charset-parameter": {
    what: "compares Content-Type as text",
    mutation: refuses(({ request }) => request.headers["content-type"] !== "application/json", {
      status: 415,
    }),
  },
  "accepts-lower-case-header-names": {
    what: "looks for X-Signature in this spelling",
    mutation: refuses(({ request }) => !request.rawHeaders.includes("X-Signature"), UNAUTHORIZED),
  },
  "accepts-upper-case-signature": {
    what: "compares hex as text",
    mutation: refuses(({ signature = "" }) => /[A-F]/.test(signature), UNAUTHORIZED),
  },
  "accepts-re-spaced-json": {
    what: "signs only the exact bytes",
    mutation: refuses(
      ({ bytes, signature }) => !verifySignature(bytes, signature, SECRET, { strict: true }).ok,
      UNAUTHORIZED,
    ),
  },
  "accepts-redelivery": { what: "answers 409 to a repeat", mutation: conflictOnRepeat() },
  "keeps-connections-in-step": { what: "leaves a refused body in the connection", mutation: outOfStep() },
  "rejects-tampered-body": {
    what: "does not look at fields added to a body",
    mutation: accepts(({ json }) => field(json, "admin") === true),
  },
  "rejects-wrong-secret": {
    what: "still has a default secret",
    mutation: accepts((seen) => signedWith(seen, "secret-of-someone-else")),
  },
  "rejects-well-known-secrets": {
    what: "turns an unset secret into text",
    mutation: accepts((seen) => signedWith(seen, String(undefined))),
  },
  "rejects-missing-signature": {
    what: "verifies only what is signed",
    mutation: accepts(({ request, signature }) => request.method === "POST" && signature === undefined),
    also: ["answers-401-to-forgeries"],
  },
  "rejects-malformed-signature": {
    what: "copies the signature into a buffer of fixed size",
    mutation: { reply: ({ signature = "" }) => (signature.length > 1_000 ? CRASH : undefined) },
  },
  "rejects-non-ascii-signature": {
    what: "compares characters where there are bytes",
    mutation: {
      reply: ({ signature = "" }) =>
        signature.length === 40 && Buffer.byteLength(signature) !== 40 ? CRASH : undefined,
    },
  },
  "rejects-repeated-signature": {
    what: "takes the header for one text",
    mutation: {
      reply: ({ request }) => (request.headersDistinct["x-signature"]?.length === 2 ? CRASH : undefined),
    },
  },
  "rejects-partial-signature": {
    what: "compares as many digits as there are",
    mutation: accepts(
      ({ signature, text }) => /^.{1,39}$/.test(signature ?? "") && digest(text).startsWith(signature ?? ""),
    ),
  },
  "rejects-sha256-signature": {
    what: "takes SHA-256 too",
    mutation: accepts(({ signature, text }) => signature === digest(text, SECRET, "sha256")),
  },
  "rejects-base64-signature": {
    what: "takes base64 too",
    mutation: accepts(
      ({ signature, text }) => signature === Buffer.from(digest(text), "hex").toString("base64"),
    ),
  },
  "rejects-prefixed-signature": {
    what: "takes sha1= too",
    mutation: accepts(({ signature, text }) => signature === `sha1=${digest(text)}`),
  },
  "rejects-batches": {
    what: "verifies the first message of a list",
    mutation: accepts(
      ({ json, signature }) =>
        Array.isArray(json) && json.length > 0 && signature === digest(JSON.stringify(json[0])),
    ),
  },
  "rejects-invalid-json": {
    what: "answers 500 to bad JSON",
    mutation: {
      reply: ({ json, text }, { status }) =>
        status === 400 && json === undefined && text ? CRASH : undefined,
    },
    also: ["answers-400-to-invalid-json"],
  },
  "rejects-empty-body": {
    what: "takes no body for {}",
    mutation: accepts(({ bytes, signature }) => bytes.length === 0 && signature === digest("{}")),
  },
  "rejects-invalid-utf8": {
    what: "replaces what is not UTF-8",
    mutation: { reply: ({ json }, { status }) => (status === 400 && json !== undefined ? OK : undefined) },
  },
  "rejects-get": {
    what: "greets browsers",
    mutation: {
      reply: ({ request }) => (request.method === "GET" ? { status: 200, body: "Hello" } : undefined),
    },
  },
  "survives-unexpected-shapes": {
    what: "reads the type of null",
    mutation: { reply: ({ json }) => (json === null ? CRASH : undefined) },
  },
  "answers-401-to-forgeries": {
    what: "answers 400 to forgeries",
    mutation: { reply: (_, { status }) => (status === 401 ? BAD_REQUEST : undefined) },
  },
  "answers-400-to-invalid-json": {
    what: "answers 401 to bad JSON",
    mutation: { reply: (_, { status }) => (status === 400 ? UNAUTHORIZED : undefined) },
  },
  "answers-415-to-other-media-types": {
    what: "takes text/plain",
    mutation: accepts(({ request }) => request.headers["content-type"] === "text/plain"),
  },
  "answers-415-to-content-encodings": {
    what: "ignores Content-Encoding",
    mutation: accepts(({ request }) => request.headers["content-encoding"] !== undefined),
  },
  "rejects-declared-oversize": {
    what: "reads a declared body whole, then answers 413",
    mutation: { readsAll: ({ headers }) => headers["content-length"] !== undefined },
  },
  "rejects-chunked-oversize": {
    what: "limits only Content-Length",
    mutation: { readsAll: ({ headers }) => headers["content-length"] === undefined },
  },
  "answers-413-to-oversize": {
    what: "answers 400 to too large a body",
    mutation: { reply: (_, { status }) => (status === 413 ? BAD_REQUEST : undefined) },
  },
  "survives-deep-nesting": {
    what: "walks the body recursively",
    mutation: { reply: ({ text }) => (text.includes("[".repeat(1_000)) ? CRASH : undefined) },
  },
  "survives-garbage": { what: "is confused by what is not HTTP", mutation: confusedByGarbage() },
  "survives-aborted-body": {
    what: "is confused by a body that breaks off",
    mutation: confusedByAborts(),
    also: ["survives-garbage"],
  },
  "leaks-no-digest": {
    what: "tells the signature it expected",
    mutation: {
      reply: ({ text }, { status }) =>
        status === 401 ? { status, body: `expected ${digest(text).toUpperCase()}` } : undefined,
    },
  },
};

function refusingTypes(...types: MessageType[]): Record<string, Mutant> {
  const entries = types.map((type): [string, Mutant] => [
    `accepts-${type}`,
    { what: `knows no ${type}`, mutation: refuses(({ json }) => field(json, "type") === type, BAD_REQUEST) },
  ]);
  return Object.fromEntries(entries);
}

/** Refuses some of what is authentic. */
function refuses(isRefused: (seen: Seen) => boolean, reply: Reply): Mutation {
  return { reply: (seen, right) => (right.status === 204 && isRefused(seen) ? reply : undefined) };
}

/** Takes some of what it should refuse. */
function accepts(isAccepted: (seen: Seen) => boolean): Mutation {
  return { reply: (seen) => (isAccepted(seen) ? OK : undefined) };
}

function conflictOnRepeat(): Mutation {
  const seenBefore = new Set<string>();
  return {
    reply({ text }, { status }) {
      if (status !== 204) return undefined;
      if (seenBefore.has(text)) return { status: 409 };
      seenBefore.add(text);
      return undefined;
    },
  };
}

function tenAtATime(): Mutation {
  let inFlight = 0;
  return {
    async reply() {
      if (inFlight >= 10) return { status: 503 };
      inFlight += 1;
      // Requests that overlap at all overlap for long, however busy the machine is.
      await delay(inFlight === 1 ? 5 : 500);
      inFlight -= 1;
      return undefined;
    },
  };
}

function outOfStep(): Mutation {
  const spoilt = new WeakSet<object>();
  return {
    reply({ request }, { status }) {
      if (spoilt.has(request.socket)) return BAD_REQUEST;
      if (status === 401) spoilt.add(request.socket);
      return undefined;
    },
  };
}

function confusedByGarbage(): Mutation {
  let confused = false;
  return {
    setUp: (server) =>
      server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
        // A body that breaks off is another mistake's.
        confused ||= error.code !== "HPE_INVALID_EOF_STATE" && (error.code?.startsWith("HPE_") ?? false);
        socket.destroy();
      }),
    reply: () => (confused ? CRASH : undefined),
    around: async (_, handle) => {
      await handle();
      confused = false;
    },
  };
}

function confusedByAborts(): Mutation {
  let begun = 0;
  let confused = false;
  // An abort can be noticed after the crash that an earlier one has led to. It does not lead to another.
  let begunAtCrash = 0;
  return {
    reply: () => {
      if (!confused) return undefined;
      confused = false;
      begunAtCrash = begun;
      return CRASH;
    },
    async around(_, handle) {
      begun += 1;
      const turn = begun;
      try {
        await handle();
      } catch (error) {
        confused ||= turn > begunAtCrash;
        throw error;
      }
    },
  };
}

function oneAtATime(): Mutation {
  let last: Promise<unknown> = Promise.resolve();
  return {
    around(_, handle) {
      const done = last.then(handle);
      last = done.catch(() => undefined);
      return done;
    },
  };
}

function slowAtLast(): Mutation {
  let deleted = 0;
  return {
    async reply({ json }, { status }) {
      if (status === 204 && field(json, "type") === "delete" && deleted++ === 1) await delay(5_100);
      return undefined;
    },
  };
}

function field(json: unknown, name: string): unknown {
  return typeof json === "object" && json !== null
    ? Object.getOwnPropertyDescriptor(json, name)?.value
    : undefined;
}

/** Whether a list in the message has the number, spelled so; the same characters occur by chance in a random id. */
function hasElement(text: string, number: string): boolean {
  return [`[${number},`, `,${number},`, `,${number}]`].some((element) => text.includes(element));
}

function signedWith({ text, signature }: Seen, secret: string): boolean {
  return signature === digest(text, secret);
}

function digest(text: string, secret: string = SECRET, algorithm = "sha1"): string {
  return createHmac(algorithm, secret).update(text).digest("hex");
}
