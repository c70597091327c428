import assert from "node:assert/strict";
import {
  createSender,
  SettingsError,
  type Sender,
  type SenderSettings,
  type Transport,
} from "@countersign/sender";
import fc from "fast-check";
import { fuzzTarget, type FuzzTarget } from "./harness.ts";
import { jsonText, jsonValue } from "./json-values.ts";
import { isValid } from "./settings-rules.ts";

const SETTINGS: SenderSettings = {
  sources: [{ name: "shop", destinations: [{ endpoints: [{ url: "https://example.com/hooks" }] }] }],
};

/** Every attempt succeeds at once: what is fuzzed is decided before. */
const transport: Transport = {
  send: () =>
    Promise.resolve({ outcome: "success", status: 200, responseBody: new Uint8Array(), durationMs: 1 }),
  close: () => Promise.resolve(),
};

const openSender = (): Promise<Sender> => createSender({ ...SETTINGS, transport });
const closeSender = (sender: Sender): Promise<void> => sender.close();

const destinationName = fc.constantFrom(
  "All",
  "Webhooks",
  "all",
  "webhooks",
  "WEBHOOKS",
  "Mixpanel",
  "__proto__",
  "constructor",
  "",
);
const integrations = fc.option(
  fc.dictionary(
    destinationName,
    fc.constantFrom<boolean | object | null | undefined>(true, false, {}, { a: 1 }, null, undefined),
    {
      maxKeys: 5,
      noNullPrototype: true,
    },
  ),
);

/** Where a call goes is what its `integrations` say (spec 6), by names that are case-sensitive and the call's own. */
const selection = fuzzTarget<typeof integrations extends fc.Arbitrary<infer T> ? T : never, Sender>({
  name: "selection",
  share: 50,
  open: openSender,
  close: closeSender,
  input: integrations,
  async check(integrations, sender) {
    const given = new Map(Object.entries(integrations ?? {}));
    const own = given.get("Webhooks");
    const isNamed = own === true || (typeof own === "object" && own !== null);
    const isSent = isNamed || (own !== false && given.get("All") !== false);
    const receipt = await sender.track({ userId: "u1", event: "Tested", integrations });
    assert.equal(receipt.deliveries.length, isSent ? 1 : 0);
    assert.equal(receipt.skipped, isSent ? undefined : "integrations");
  },
});

const userId = fc.oneof(
  fc.constantFrom("u1", "u2", "u3", "u4", "u5"),
  jsonText.filter((text) => text !== "" && !/\p{Surrogate}/u.test(text)),
);
const memberLists = fc.array(fc.array(userId, { maxLength: 8 }), { minLength: 1, maxLength: 4 });

interface AudienceSubject {
  readonly sender: Sender;
  count: number;
}

/** Each sync tells of those who joined or left since the last one, once each, and of nobody else (spec 6). */
const audiences = fuzzTarget<string[][], AudienceSubject>({
  name: "audience diff",
  share: 10,
  open: async () => ({ sender: await openSender(), count: 0 }),
  close: ({ sender }) => closeSender(sender),
  input: memberLists,
  async check(syncs, subject) {
    const { sender } = subject;
    const count = (subject.count += 1);
    let known = new Set<string>();
    for (const userIds of syncs) {
      const members = new Set(userIds);
      const receipt = await sender.syncAudience(`Audience No ${count}`, userIds);
      const joined = [...members].filter((user) => !known.has(user));
      const left = [...known].filter((user) => !members.has(user));
      assert.deepEqual(new Set(receipt.changed), new Set(joined));
      assert.deepEqual(new Set(receipt.removed), new Set(left));
      const told = await Promise.all(receipt.deliveries.map((id) => messageOf(sender, id)));
      const expected = new Map<string, boolean>();
      for (const user of joined) expected.set(user, true);
      for (const user of left) expected.set(user, false);
      const trait = `audience_no_${count}`;
      assert.equal(told.length, expected.size);
      assert.deepEqual(new Map(told.map(({ userId, traits }) => [userId, traits[trait]])), expected);
      known = members;
    }
  },
});

async function messageOf(
  sender: Sender,
  id: string,
): Promise<{ userId: string; traits: Record<string, unknown> }> {
  const delivery = await sender.delivery(id);
  return JSON.parse(Buffer.from(delivery?.body ?? []).toString()) as never;
}

const url = fc.oneof(
  { weight: 8, arbitrary: fc.nat(9).map((number) => `https://example.com/${number}`) },
  {
    weight: 2,
    arbitrary: fc.constantFrom<unknown>(
      "http://EXAMPLE.com/1",
      "https://example.com/1#a",
      "https://example.com",
      "http://[::1]:1/",
      "ftp://example.com",

      "https://user:pw@example.com/",
      "//example.com",
      "example.com",
      "https://",
      "javascript:alert(1)",
      "https://a b/",
      "",
    ),
  },
);
const headers = fc.option(
  fc.dictionary(
    fc.oneof(
      fc.constantFrom(
        "X-Team",
        "x-team",
        "Authorization",
        "Host",
        "X-Signature",
        "content-type",
        "a b",
        "a\n",
        "é",
      ),
      jsonText,
    ),
    fc.oneof(fc.constantFrom<unknown>("a", "", "Bearer t", "a\r\nb: c", "a\0", "é", "日", 1, null), jsonText),
    { maxKeys: 2, noNullPrototype: true },
  ),
);
const endpoint = fc.record({ url, headers }, { requiredKeys: ["url"] });
/** One to seven: as many as there may be, and more. Most have nothing else that is wrong. */
const endpoints = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .integer({ min: 1, max: 7 })
      .map((count) => Array.from({ length: count }, (_, index) => ({ url: `https://example.com/${index}` }))),
  },
  { weight: 2, arbitrary: fc.array(endpoint, { minLength: 1, maxLength: 3 }) },
);
const name = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom<unknown>("a", "b", "c", "Webhooks", undefined) },
  { weight: 1, arbitrary: fc.oneof(fc.constantFrom("", "a/b", "a\n", "\u0085", null, 7), jsonText) },
);
const destination = fc.record(
  {
    name,
    endpoints,
    secret: fc.constantFrom<unknown>("a secret", "b", undefined, null, "", " \n", 7),
    enabled: fc.constantFrom<unknown>(true, false, null, undefined, "true"),
    concurrency: fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom<unknown>(1, 20, undefined) },
      { weight: 1, arbitrary: jsonValue },
    ),
  },
  { requiredKeys: ["endpoints"] },
);
const source = fc.record(
  {
    name,
    writeKey: name,
    destinations: fc.array(destination, { maxLength: 3 }),
    blockedEvents: fc.oneof(
      { weight: 4, arbitrary: fc.array(jsonText, { maxLength: 2 }) },
      { weight: 1, arbitrary: jsonValue },
    ),
    countFiltered: fc.constantFrom<unknown>(true, undefined, null, 1),
  },
  { requiredKeys: ["name", "destinations"] },
);
const settingsInput = fc.record({
  settings: fc.record({ sources: fc.array(source, { minLength: 1, maxLength: 3 }) }),
  edits: fc.array(
    fc.tuple(
      fc.nat(30),
      fc.constantFrom(
        "sources",
        "name",
        "destinations",
        "endpoints",
        "url",
        "headers",
        "urll",
        "secrt",
        "sharedSecret",
      ),
      jsonValue,
    ),
    { maxLength: 1 },
  ),
});

/** Settings are taken whole or refused whole, by rules written a second time in the test; a refusal names what is wrong. */
const settingsTarget = fuzzTarget<typeof settingsInput extends fc.Arbitrary<infer T> ? T : never, Sender>({
  name: "settings",
  share: 60,
  open: openSender,
  close: closeSender,
  input: settingsInput,
  check({ settings, edits }, sender) {
    const input = structuredClone(settings) as object;
    for (const [index, key, value] of edits) {
      const objects = objectsIn(input);
      Object.assign(objects[index % objects.length] ?? {}, { [key]: value });
    }
    const before = JSON.stringify(sender.settings);
    const refusal = refusalOf(() => sender.configure(input as SenderSettings));
    assert.equal(
      refusal === undefined,
      isValid(input),
      refusal?.message ?? "accepted, though a rule refuses it",
    );
    if (refusal === undefined) return;
    assert.equal(JSON.stringify(sender.settings), before, "refused settings changed those in force");
    assert.ok(refusal.issues.length > 0);
    for (const { path, problem } of refusal.issues) assert.ok(path !== "" && problem !== "");
  },
});

function refusalOf(configure: () => void): SettingsError | undefined {
  try {
    configure();
    return undefined;
  } catch (error) {
    if (error instanceof SettingsError) return error;
    throw error;
  }
}

function objectsIn(value: unknown): object[] {
  if (typeof value !== "object" || value === null) return [];
  const inner = Object.values(value).flatMap(objectsIn);
  return Array.isArray(value) ? inner : [value, ...inner];
}

export const senderTargets: readonly FuzzTarget[] = [selection, audiences, settingsTarget];
