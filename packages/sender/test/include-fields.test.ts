import { SettingsError, type DestinationSettings, type Sender } from "@countersign/sender";
import { describe, expect, it } from "vitest";
import { openSender } from "./support/open-sender.ts";
import { type Receiver, startReceiver } from "./support/receiver.ts";

const TIMESTAMP = "2026-01-31T08:30:00.000Z";

async function open(
  ...includes: readonly DestinationSettings["includeFields"][]
): Promise<{ sender: Sender; receivers: readonly Receiver[] }> {
  const receivers = await Promise.all(includes.map(() => startReceiver()));
  const destinations = receivers.map(({ url }, index) => ({
    endpoints: [{ url }],
    includeFields: includes[index],
  }));
  return { sender: await openSender({ sources: [{ name: "shop", destinations }] }), receivers };
}

const CALL = {
  type: "track",
  messageId: "m1",
  timestamp: TIMESTAMP,
  userId: "u1",
  event: "Bought",
  integrations: { Elsewhere: false },
} as const;
const ORIGIN = {
  receivedAt: "2026-01-31T08:30:02.000Z",
  sentAt: "2026-01-31T09:30:01.000Z",
  originalTimestamp: "2026-01-31T09:29:59.000Z",
  channel: "web",
};
const DOCUMENTED = {
  version: 1,
  type: "track",
  messageId: "m1",
  userId: "u1",
  event: "Bought",
  properties: {},
  timestamp: TIMESTAMP,
  context: {},
};

describe("includeFields", () => {
  it("a handler that reads receivedAt, sentAt, originalTimestamp, integrations and channel can be tested", async () => {
    const all = ["receivedAt", "sentAt", "originalTimestamp", "integrations", "channel"] as const;
    const { sender, receivers } = await open(all, undefined, ["sentAt"]);

    const [receipt] = await sender.accept([{ ...CALL, origin: ORIGIN }]);
    expect(await receipt?.settled()).toHaveLength(3);

    expect(receivers.map(({ received }) => received.map(({ body }) => JSON.parse(body)))).toEqual([
      [{ ...DOCUMENTED, integrations: CALL.integrations, ...ORIGIN }],
      [DOCUMENTED],
      [{ ...DOCUMENTED, sentAt: ORIGIN.sentAt }],
    ]);
    expect((await sender.stats()).sources).toEqual([{ source: "shop", usage: 1 }]);
  });

  it("a call of the program itself has the times that are known, and leaves the others out", async () => {
    const { sender, receivers } = await open(["receivedAt", "sentAt", "originalTimestamp", "channel"]);
    const receipt = await sender.track({ userId: "u1", event: "Bought", timestamp: TIMESTAMP });
    await receipt.settled();
    expect(receivers[0]?.received[0]?.message).toMatchObject({
      originalTimestamp: TIMESTAMP,
      receivedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    });
    expect(receivers[0]?.received[0]?.message).not.toHaveProperty("sentAt");
    expect(receivers[0]?.received[0]?.message).not.toHaveProperty("channel");
  });

  it("does not forward what is opted out of", async () => {
    const { sender } = await open(["integrations"], undefined);
    const receipt = await sender.track({ userId: "u1", event: "Bought", integrations: { All: false } });
    expect(receipt).toMatchObject({ deliveries: [], skipped: "integrations" });
  });

  it("checks a call that is skipped like any other: one without an identity is refused", async () => {
    const { sender } = await open(["integrations"], undefined);
    const { userId: _, ...nobody } = CALL;
    const calls = [{ ...nobody, anonymousId: undefined, integrations: { All: false } }];
    await expect(sender.accept(calls)).rejects.toMatchObject({ code: "ERR_FIELD_MISSING", field: "userId" });
  });

  it.each([["receivedAt"], [["recievedAt"]], [[1]], [{}]])(
    "refuses %j, naming what can be included",
    async (value) => {
      const opening = open(value as never);
      await expect(opening).rejects.toThrow(SettingsError);
      await expect(opening).rejects.toThrow(
        "includeFields must be a list of these: integrations, channel, originalTimestamp, sentAt, receivedAt.",
      );
    },
  );
});
