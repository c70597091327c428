import { createHmac } from "node:crypto";
import { sampleMessages } from "@countersign/core/testing";
import fc from "fast-check";
import { hexHmac, SECOND_FORM_LIMIT } from "./independent-verifier.ts";
import { jsonObject, jsonValue } from "./json-values.ts";

/** A request, and what its receiver is set up with. */
export interface SignedCase {
  body: Buffer;
  header: unknown;
  secrets: string[];
  strict: boolean;
}

/** A change to a request or its receiver. `a` and `b` say where or which; any number will do. */
type Change = (request: SignedCase, a: number, b: number) => void;

const SIGNER = "the secret of the signer";

/** Changes of the body: those that keep its meaning, those that keep its length, those that break it. */
const BODY_CHANGES: Readonly<Record<string, Change>> = {
  flipBit: (request, a, b) => {
    if (request.body.length > 0) request.body = withByte(request.body, a, (byte) => byte ^ (1 << (b % 8)));
  },
  replaceByte: (request, a, b) => {
    if (request.body.length > 0) request.body = withByte(request.body, a, () => b % 256);
  },
  insertSpace: (request, a, b) =>
    splice(request, a, 0, Buffer.from([[0x20, 0x0a, 0x0d, 0x09][b % 4] ?? 0x20])),
  insertByte: (request, a, b) => splice(request, a, 0, Buffer.from([b % 256])),
  removeByte: (request, a) => splice(request, a, 1, Buffer.alloc(0)),
  truncate: (request, a) => void (request.body = request.body.subarray(0, a % (request.body.length + 1))),
  appendText: (request, a) => {
    const tails = ["\n", " ", "\0", "{}", ",", "\uFEFF", "//", "]"];
    request.body = Buffer.concat([request.body, Buffer.from(tails[a % tails.length] ?? "")]);
  },
  prependMark: (request) => void (request.body = Buffer.concat([Buffer.from("\uFEFF"), request.body])),
  badUtf8: (request, a, b) => {
    const sequences = [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x82]];
    splice(request, a, 0, Buffer.from(sequences[b % sequences.length] ?? []));
  },
  rewrite: (request) => rewrite(request, (value) => JSON.stringify(value)),
  indent: (request, a) => rewrite(request, (value) => JSON.stringify(value, null, a % 2 === 0 ? 2 : "\t")),
  escapeAll: (request) =>
    rewrite(request, (value) => JSON.stringify(value).replaceAll(/[^\0-\x7F]/g, (unit) => escaped(unit))),
  escapeSlashes: (request) =>
    rewrite(request, (value) => JSON.stringify(value).replaceAll("/", String.raw`\/`)),
  respellNumber: (request, a) => {
    const spellings = ["$1.0", "$1e0", "$1E+0", "-0", "1e400", "0.1e1", "00$1"];
    replaceText(request, /(?<=[:[,])(-?\d+)(?=[,}\]])/, spellings[a % spellings.length] ?? "$1");
  },
  repeatKey: (request, a) => {
    const entries = [
      '{"type":"track",',
      '{"__proto__":{"role":"admin"},',
      '{"role":"admin","role":"user",',
      '{"":0,',
    ];
    replaceText(request, /^\{(?=")/, entries[a % entries.length] ?? "{");
  },
  reverseKeys: (request) =>
    rewrite(request, (value) =>
      JSON.stringify(isRecord(value) ? Object.fromEntries(Object.entries(value).toReversed()) : value),
    ),
  replaceAll: (request, a) => {
    const bodies = ["", "{}", "null", "[]", "0", '""', " ", "[", "nul", "{'a':1}", "{}{}"];
    request.body = Buffer.from(bodies[a % bodies.length] ?? "");
  },
};

/** Changes of the signature header. */
const HEADER_CHANGES: Readonly<Record<string, Change>> = {
  sign: (request) => void (request.header = hexHmac(request.body, SIGNER)),
  signRewritten: (request) => {
    const text = parsed(request.body)?.text;
    if (text !== undefined) request.header = hexHmac(Buffer.from(text), SIGNER);
  },
  signWithAnother: (request, a) => void (request.header = hexHmac(request.body, `another ${a % 3}`)),
  upperCase: (request) => onText(request, (text) => text.toUpperCase()),
  flipDigit: (request, a, b) =>
    onText(request, (text) => text.slice(0, a % 41) + "0123456789abcdef"[b % 16] + text.slice((a % 41) + 1)),
  shorten: (request, a) => onText(request, (text) => text.slice(0, a % 41)),
  lengthen: (request, a) => onText(request, (text) => text + ["0", " ", "\n", "\0", ",", "é"][a % 6]),
  prefix: (request, a) => onText(request, (text) => ["sha1=", " ", "0x", "v0="][a % 4] + text),
  otherDigits: (request, a) =>
    onText(request, (text) => ["０", "٠", "g", "\u212A", "ﬀ"][a % 5] + text.slice(1)),
  sha256: (request) =>
    void (request.header = createHmac("sha256", SIGNER).update(request.body).digest("hex").slice(0, 40)),
  base64: (request) =>
    void (request.header = createHmac("sha1", SIGNER).update(request.body).digest("base64")),
  twice: (request, a) =>
    void (request.header = [request.header, a % 2 === 0 ? request.header : "0".repeat(40)].flat()),
  inList: (request) => void (request.header = [request.header].flat().slice(0, 1)),
  missing: (request, a) => void (request.header = [undefined, null, "", []][a % 4]),
  noText: (request, a) => void (request.header = [0, true, {}, Number.NaN, { toString: () => "0" }][a % 5]),
};

/** Changes of what the receiver is set up with. */
const RECEIVER_CHANGES: Readonly<Record<string, Change>> = {
  otherSecret: (request, a) => void (request.secrets = [`another ${a % 3}`]),
  moreSecrets: (request, a) => void request.secrets.splice(a % 2, 0, `another ${a % 3}`),
  nearlySecret: (request, a) => {
    const near = [
      ` ${SIGNER}`,
      `${SIGNER} `,
      `${SIGNER}\n`,
      SIGNER.toUpperCase(),
      `${SIGNER}\0`,
      SIGNER.slice(1),
    ];
    request.secrets = [near[a % near.length] ?? SIGNER];
  },
  strict: (request) => void (request.strict = !request.strict),
};

/** Changes that make a body of 128 KiB, around the limit of the second form: rare, since they are slow. */
const SIZE_CHANGES: Readonly<Record<string, Change>> = {
  padTo: (request, a) => {
    const missing = SECOND_FORM_LIMIT + [-1, 0, 1][a % 3]! - request.body.length;
    if (missing > 0) request.body = Buffer.concat([request.body, Buffer.alloc(missing, " ")]);
  },
};

const CHANGES: Readonly<Record<string, Change>> = {
  ...BODY_CHANGES,
  ...HEADER_CHANGES,
  ...RECEIVER_CHANGES,
  ...SIZE_CHANGES,
};

const position = fc.oneof(fc.nat(64), fc.nat(100_000));
const change = (names: readonly string[]): fc.Arbitrary<readonly [string, number, number]> =>
  fc.tuple(fc.constantFrom(...names), position, position);

/** A signed request, and what was changed of it since: named and numbered, so that a failure can be read. */
export const signedCase: fc.Arbitrary<{
  readonly body: string;
  readonly changes: readonly (readonly [name: string, a: number, b: number])[];
}> = fc.record({
  body: fc
    .oneof(
      { weight: 6, arbitrary: fc.constantFrom<unknown>(...Object.values(sampleMessages)) },
      { weight: 3, arbitrary: jsonObject.map((traits) => ({ type: "identify", userId: "u1", traits })) },
      { weight: 2, arbitrary: jsonValue },
    )
    .map((value) => JSON.stringify(value)),
  changes: fc.array(
    fc.oneof(
      { weight: 60, arbitrary: change(Object.keys(BODY_CHANGES)) },
      { weight: 50, arbitrary: change(Object.keys(HEADER_CHANGES)) },
      { weight: 20, arbitrary: change(Object.keys(RECEIVER_CHANGES)) },
      { weight: 1, arbitrary: change(Object.keys(SIZE_CHANGES)) },
    ),
    { maxLength: 5 },
  ),
});

/** The request that a case describes. */
export function applyChanges({
  body,
  changes,
}: typeof signedCase extends fc.Arbitrary<infer T> ? T : never): SignedCase {
  const bytes = Buffer.from(body);
  const request: SignedCase = {
    body: bytes,
    header: hexHmac(bytes, SIGNER),
    secrets: [SIGNER],
    strict: false,
  };
  for (const [name, a, b] of changes) CHANGES[name]?.(request, a, b);
  return request;
}

function withByte(body: Buffer, at: number, change: (byte: number) => number): Buffer {
  const copy = Buffer.from(body);
  const index = at % copy.length;
  copy[index] = change(copy[index] ?? 0);
  return copy;
}

function splice(request: SignedCase, at: number, remove: number, insert: Buffer): void {
  const index = at % (request.body.length + 1);
  request.body = Buffer.concat([
    request.body.subarray(0, index),
    insert,
    request.body.subarray(index + remove),
  ]);
}

function onText(request: SignedCase, change: (text: string) => string): void {
  if (typeof request.header === "string") request.header = change(request.header);
}

function parsed(body: Buffer): { readonly value: unknown; readonly text: string } | undefined {
  try {
    const value: unknown = JSON.parse(body.toString("utf8"));
    return { value, text: JSON.stringify(value) };
  } catch {
    return undefined;
  }
}

function rewrite(request: SignedCase, write: (value: unknown) => string): void {
  const json = parsed(request.body);
  if (json !== undefined) request.body = Buffer.from(write(json.value));
}

function replaceText(request: SignedCase, pattern: RegExp, replacement: string): void {
  request.body = Buffer.from(request.body.toString("utf8").replace(pattern, replacement));
}

function escaped(unit: string): string {
  return String.raw`\u${unit.codePointAt(0)?.toString(16).padStart(4, "0")}`;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
