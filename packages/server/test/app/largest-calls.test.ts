import { createServer } from "@countersign/server";
import { describe, expect, it } from "vitest";
import { send } from "../support/http.ts";
import { SECRET, startReceiver } from "../support/receiver.ts";
import { closing } from "../../../../tests/support/resources.ts";

/** A call as a client records it, of exactly so many bytes of JSON. */
function callOf(bytes: number): object {
  const call = {
    type: "track",
    messageId: `m-${bytes}`,
    timestamp: "2026-01-31T08:30:00.000Z",
    userId: "u",
    event: "Large",
    properties: { text: "" },
  };
  const room = bytes - Buffer.byteLength(JSON.stringify(call));
  return { ...call, properties: { text: `${"é".repeat(Math.floor(room / 2))}${room % 2 === 1 ? "x" : ""}` } };
}

const SIZES = [32_696, 32_697, 32_719, 32_720, 32_767, 32_768];

/** What the client library adds for its own batch. */
const CONTEXT = { library: { name: "@countersign/client", version: "1.0.0" }, locale: "de-DE" };
const SENT_AT = "2026-01-31T08:30:01.000Z";

describe("a call that the client accepts arrives, up to its last byte", () => {
  it.each([
    ["/v1/batch", (call: object) => ({ batch: [call], sentAt: SENT_AT })],
    [
      "/v1/batch with context",
      (call: object) => ({
        batch: [call],
        sentAt: SENT_AT,
        context: CONTEXT,
        integrations: { Other: false },
      }),
    ],
    [
      "/v1/batch with a context of its own limit",
      (call: object) => ({ batch: [call], context: { a: "x".repeat(32_700) } }),
    ],
    [
      "/v1/track",
      (call: object) => ({ ...call, sentAt: SENT_AT, writeKey: "a-write-key-of-32-characters-0123" }),
    ],
  ])("by %s", async (title, bodyOf) => {
    const receiver = closing(await startReceiver());
    const server = closing(await createServer({ to: receiver.url, secret: SECRET, port: 0 }));
    const url = server.url + (title.split(" ")[0] ?? "");
    for (const size of SIZES) {
      const body = { writeKey: "any", ...bodyOf(callOf(size)) };
      expect((await send(url, { method: "POST", body })).status).toBe(200);
    }
    await server.sender.idle();
    expect((await send(`${server.url}/api/rejections`)).json()).toEqual([]);
    expect(receiver.webhooks).toHaveLength(SIZES.length);
    for (const size of SIZES) {
      const { properties } = callOf(size) as { readonly properties: object };
      expect(receiver.webhooks).toContainEqual(
        expect.objectContaining({ messageId: `m-${size}`, properties }),
      );
    }
  });

  it("and one of a byte more is refused by its own name, not lost", async () => {
    const server = closing(await createServer({ to: "http://127.0.0.1:9/", port: 0 }));
    const call = callOf(32_769);
    const single = await send(`${server.url}/v1/track`, {
      method: "POST",
      body: { writeKey: "any", ...call },
    });
    expect([single.status, single.json()]).toMatchObject([400, { code: "payload_too_large" }]);
    await send(`${server.url}/v1/batch`, { method: "POST", body: { writeKey: "any", batch: [call] } });
    expect((await send(`${server.url}/api/rejections`)).json()).toMatchObject([
      { reason: "message_too_large" },
    ]);
  });
});
