import assert from "node:assert/strict";
import { Agent, request as httpRequest } from "node:http";
import { createServer as createNetServer, type AddressInfo, type Server } from "node:net";
import { once } from "node:events";
import { gzipSync } from "node:zlib";
import { createServer, type CountersignServer } from "@countersign/server";
import fc from "fast-check";
import { fuzzTarget, type FuzzTarget } from "./harness.ts";
import { jsonObject, jsonText, jsonValue } from "./json-values.ts";

const WRITE_KEY = "key-of-the-shop";

interface Subject {
  readonly server: CountersignServer;
  /** An endpoint that never answers: what is stored stays pending, to be looked at. */
  readonly silent: Server;
  readonly agent: Agent;
  count: number;
}

async function open(): Promise<Subject> {
  const silent = createNetServer((socket) => void socket.on("error", () => {}).resume());
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/`;
  const server = await createServer({
    port: 0,
    sources: [
      { name: "shop", writeKey: WRITE_KEY, destinations: [{ endpoints: [{ url }], concurrency: 1 }] },
      { name: "other", destinations: [] },
    ],
  });
  return { server, silent, agent: new Agent({ keepAlive: true, maxSockets: 1 }), count: 0 };
}

async function close({ server, silent, agent }: Subject): Promise<void> {
  // After everything that came in, the server still answers.
  const health = await fetch(`${server.url}/healthz`, { headers: { connection: "close" } });
  assert.equal(health.status, 200);
  agent.destroy();
  await server.close({ deadlineMs: 0 });
  await new Promise<void>((resolve) => silent.close(() => resolve()));
}

/** What a good call of each type has; `messageId` is added, so that each can be looked for. */
const GOOD: readonly ((free: Record<string, unknown>) => Record<string, unknown>)[] = [
  (traits) => ({ type: "identify", userId: "u1", traits }),
  (properties) => ({ type: "track", userId: "u1", event: "Tested", properties }),
  (properties) => ({ type: "page", anonymousId: "a1", name: "Home", properties }),
  (properties) => ({ type: "screen", userId: 7, properties, timestamp: "2026-01-31T08:30:00Z" }),
  (traits) => ({ type: "group", userId: "u1", groupId: "g1", traits }),
  (context) => ({ type: "alias", userId: "u1", previousId: "a1", context, anonymousId: null }),
];

/** Calls that no rule lets through, each with a `messageId` all the same. */
const BAD: readonly Record<string, unknown>[] = [
  { type: "track", event: "Nobody" },
  { type: "track", userId: "u1" },
  { type: "track", userId: "u1", event: ["Tested"] },
  { type: "identify", userId: { id: 1 } },
  { type: "identify", userId: "u1", traits: ["a"] },
  { type: "identify", userId: "u1", timestamp: "yesterday" },
  { type: "group", userId: "u1" },
  { type: "alias", userId: "u1" },
  { type: "delete", userId: "u1" },
  { type: "__proto__", userId: "u1" },
  { userId: "u1" },
];

type Event = {
  readonly good: boolean;
  readonly variant: number;
  readonly free: Record<string, unknown>;
  readonly twice: boolean;
};
const event: fc.Arbitrary<Event> = fc.record({
  good: fc.boolean(),
  variant: fc.nat(1_000),
  free: jsonObject,
  twice: fc.nat(9).map((number) => number === 0),
});

const body = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("batch" as const),
      events: fc.array(event, { maxLength: 6 }),
      junk: fc.array(
        jsonValue.filter((value) => typeof value !== "object" || value === null),
        { maxLength: 2 },
      ),
      shared: fc.option(jsonObject, { nil: undefined }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("call" as const), event }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("json" as const), value: jsonValue }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("bytes" as const), bytes: fc.uint8Array({ maxLength: 400 }) }),
  },
);
const input = fc.record({
  body,
  path: fc.constantFrom("batch", "import", "b", "identify", "t", "nothing"),
  coding: fc.constantFrom("none", "none", "gzip", "gzip", "x-gzip", "cut", "lie", "br"),
  key: fc.constantFrom("basic", "basic", "bare", "body", "bearer", "wrong", "none"),
  contentType: fc.constantFrom(
    "application/json",
    "text/plain",
    "application/x-www-form-urlencoded",
    "nonsense",
    "",
  ),
  strict: fc.boolean(),
  cut: fc.nat(1_000),
});
type Input = typeof input extends fc.Arbitrary<infer T> ? T : never;

/** Whatever comes in is answered, in the shape that clients read; each good call is stored once, and no bad one is. */
const ingestion = fuzzTarget<Input, Subject>({
  name: "ingestion",
  share: 50,
  open,
  close,
  input,
  async check(input, subject) {
    const { server } = subject;
    const { good, bad, value } = compose(input, subject);
    const plain =
      input.body.kind === "bytes" ? Buffer.from(input.body.bytes) : Buffer.from(JSON.stringify(value));
    const { status, text } = await post(subject, input, encode(plain, input));
    assert.ok([200, 400, 401, 404].includes(status), `answered ${status}`);
    const answer = JSON.parse(text) as { success?: unknown; code?: unknown };
    assert.equal(answer.success, status === 200);
    if (status !== 200) assert.equal(typeof answer.code, "string");

    const isReadable = ["none", "gzip", "x-gzip"].includes(input.coding) && input.path !== "nothing";
    const isForBatch = ["batch", "import", "b"].includes(input.path);
    const isBatch = input.body.kind === "batch";
    const isTaken = isReadable && isForBatch && isBatch && !["wrong", "none"].includes(input.key);
    for (const id of good)
      assert.equal(await stored(server, id), isTaken ? 1 : 0, `good call ${id}, ${status} ${text}`);
    for (const id of bad) assert.equal(await stored(server, id), 0, `bad call ${id}`);
    if (isTaken && !input.strict) assert.equal(status, 200);
  },
});

/** The JSON of a request, and the ids of the calls in it. */
function compose({ body, key }: Input, subject: Subject) {
  const good: string[] = [];
  const bad: string[] = [];
  const call = ({ good: isGood, variant, free, twice }: Event): object[] => {
    const messageId = `case-${(subject.count += 1)}`;
    (isGood ? good : bad).push(messageId);
    const fields = isGood ? GOOD[variant % GOOD.length]?.(free) : BAD[variant % BAD.length];
    const message = { ...fields, messageId };
    return twice ? [message, message] : [message];
  };
  const writeKey = key === "body" || key === "bearer" ? { writeKey: WRITE_KEY } : {};
  if (body.kind === "batch") {
    const batch = [...body.events.flatMap(call), ...body.junk];
    return { good, bad, value: { batch, ...writeKey, ...(body.shared && { context: body.shared }) } };
  }
  // A call by itself goes to paths of its own; to others it is one more thing that is no batch.
  if (body.kind === "call") return { good: [], bad: [], value: { ...call(body.event)[0], ...writeKey } };
  return { good, bad, value: body.kind === "json" ? body.value : undefined };
}

function encode(plain: Buffer, { coding, cut }: Input): Buffer {
  if (coding === "none" || coding === "br") return plain;
  // Says gzip, and is none.
  if (coding === "lie") return Buffer.concat([Buffer.from([0]), plain]);
  const zipped = gzipSync(plain, { level: 1 });
  return coding === "cut" ? zipped.subarray(0, cut % zipped.length) : zipped;
}

async function post(
  { server, agent }: Subject,
  input: Input,
  bytes: Buffer,
): Promise<{ status: number; text: string }> {
  const basic = (user: string): string => `Basic ${Buffer.from(user).toString("base64")}`;
  const authorization = {
    basic: basic(`${WRITE_KEY}:`),
    bare: basic(WRITE_KEY),
    bearer: "Bearer t",
    wrong: basic("w:"),
  };
  const encodings: Readonly<Record<string, string>> = {
    gzip: "gzip",
    "x-gzip": "x-gzip",
    cut: "gzip",
    lie: "gzip",
    br: "br",
  };
  const encoding = encodings[input.coding];
  const header = (authorization as Readonly<Record<string, string>>)[input.key];
  const request = httpRequest(`${server.url}/v1/${input.path}`, {
    method: "POST",
    agent,
    headers: {
      "content-length": bytes.length,
      ...(input.contentType !== "" && { "content-type": input.contentType }),
      ...(encoding !== undefined && { "content-encoding": encoding }),
      ...(header !== undefined && { authorization: header }),
      ...(input.strict && { "x-strict-mode": "1" }),
    },
  });
  request.end(bytes);
  const [response] = await once(request, "response");
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  return { status: response.statusCode, text: Buffer.concat(chunks).toString() };
}

async function stored(server: CountersignServer, messageId: string): Promise<number> {
  return (await server.sender.deliveries({ messageId })).length;
}

/** Any bytes of a header that Node lets through name no source, and break nothing. */
const writeKeys = fuzzTarget<string, Subject>({
  name: "write key header",
  share: 5,
  open,
  close,
  input: fc.oneof(
    jsonText.map((text) => `Basic ${Buffer.from(text).toString("base64")}`),
    fc.stringMatching(/^[ -~]{0,40}$/),
    fc.stringMatching(/^[Bb]asic {1,3}[A-Za-z0-9+/=_-]{0,20}$/),
  ),
  async check(authorization, subject) {
    const response = await fetch(`${subject.server.url}/v1/track`, {
      method: "POST",
      headers: { authorization, "x-strict-mode": "1" },
      body: JSON.stringify({ userId: "u1", event: "Tested" }),
    });
    const { success, code } = (await response.json()) as { success: boolean; code: string };
    assert.deepEqual([response.status, success], [401, false]);
    assert.ok(code === "no_write_key" || code === "unknown_write_key", code);
  },
});

export const ingestionTargets: readonly FuzzTarget[] = [ingestion, writeKeys];
