import { createSender, sqliteStore, type AttemptRequest, type Sender } from "@countersign/sender";
import { createTestSender } from "@countersign/sender/testing";
import { setFlagsFromString } from "node:v8";
import { runInNewContext, runInThisContext } from "node:vm";
import { expect, it, onTestFinished } from "vitest";

const ENDPOINT_URL = "http://127.0.0.1:9/";
const SECRET = "correct horse battery staple";
const UNSIGNED = { endpoints: [{ url: ENDPOINT_URL }] };
const SIGNED = { ...UNSIGNED, secret: SECRET };

/** A sender whose store gets calls, and does not answer until the second function is called. */
async function senderOnBusyStore(): Promise<[sender: Sender, answer: () => void]> {
  const store = sqliteStore();
  let answer = (): void => {};
  const isAnswered = new Promise<void>((resolve) => (answer = resolve));
  const accept = store.accept.bind(store);
  const sender = await createSender({
    sources: [{ name: "app", destinations: [SIGNED] }],
    store: Object.assign(store, {
      accept: (acceptance: Parameters<typeof accept>[0]) => isAnswered.then(() => accept(acceptance)),
    }),
    deliver: false,
  });
  onTestFinished(() => sender.close());
  return [sender, answer];
}

it("a call that is not stored yet keeps its message, and nothing of what the app passed", async () => {
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc") as () => void;
  const [sender, answer] = await senderOnBusyStore();
  const track = (): [WeakRef<object>, Promise<unknown>] => {
    const properties = { list: [1, 2, 3] };
    return [new WeakRef(properties), sender.track({ userId: "u1", event: "E", properties })];
  };

  const [properties, receipt] = track();
  // What was referred to in a turn is kept until its end.
  await new Promise((resolve) => setImmediate(resolve));
  collectGarbage();

  expect(properties.deref()).toBeUndefined();
  answer();
  await receipt;
});

it.each(Object.entries({ signed: SIGNED, unsigned: UNSIGNED }))(
  "the headers of all %s requests have one hidden class, which what reads them knows",
  async (_, destination) => {
    setFlagsFromString("--allow-natives-syntax");
    const haveOneClass = runInThisContext("(a, b) => %HaveSameMap(a, b)") as (
      a: object,
      b: object,
    ) => boolean;
    const requests: AttemptRequest[] = [];
    const sender = await createTestSender({
      sources: [{ name: "app", destinations: [destination] }],
      transport: {
        send: (request) => {
          requests.push(request);
          return Promise.resolve({
            outcome: "success",
            status: 200,
            durationMs: 1,
            responseBody: new Uint8Array(),
          });
        },
        close: () => Promise.resolve(),
      },
    });
    // The engine looks at how objects are made from the ninth time on.
    for (let call = 0; call < 50; call += 1) await sender.track({ userId: "u1", event: "E" });
    await sender.idle();

    const [one, another] = requests.slice(-2).map(({ headers }) => headers);
    expect(haveOneClass(one as object, another as object)).toBe(true);
  },
);
