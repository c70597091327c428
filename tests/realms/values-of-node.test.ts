import { mkdtemp, rm } from "node:fs/promises";
import { statSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runInNewContext } from "node:vm";
import { certify } from "@countersign/certify";
import { Analytics } from "@countersign/client";
import { createReceiver, sign, verifySignature } from "@countersign/core";
import { sendResponse, toWebhookRequest } from "@countersign/core/node";
import { sampleMessages, signedRequest } from "@countersign/core/testing";
import { parseTimestamp, recordCall } from "@countersign/protocol";
import { sqliteStore } from "@countersign/sender";
import { createTestSender, virtualClock, type Target } from "@countersign/sender/testing";
import { beforeEach, expect, it, onTestFinished, vi } from "vitest";

const SECRET = "secret";

// As under jsdom, whose global Uint8Array is not the one that Buffer extends.
beforeEach(() => {
  vi.stubGlobal("Uint8Array", runInNewContext("Uint8Array"));
  vi.stubGlobal("ArrayBuffer", runInNewContext("ArrayBuffer"));
  return () => vi.unstubAllGlobals();
});

it("runs where Node's bytes and dates are not instances of the global classes", () => {
  expect(Buffer.from("{}") instanceof Uint8Array).toBe(false);
  expect(new TextEncoder().encode("{}") instanceof Uint8Array).toBe(false);
  expect(statSync(".").mtime instanceof Date).toBe(false);
});

it("signs and verifies bytes of Node", () => {
  const body = Buffer.from("{}");
  expect(verifySignature(body, sign(body, SECRET), SECRET)).toMatchObject({ ok: true });
});

it("takes nothing else for bytes", () => {
  const others = [new DataView(Buffer.from("{}").buffer), new Uint16Array(1), [1], JSON.parse('{"0":1}')];
  for (const body of others) {
    expect(() => sign(body as Uint8Array, SECRET)).toThrow("must be the exact bytes or text");
  }
});

it("makes a signed request of a message and of bytes", () => {
  const { text, headers } = signedRequest(sampleMessages.track, SECRET);
  expect(signedRequest(Buffer.from(text), SECRET)).toMatchObject({ text, headers });
});

it.each(["rawBody", "body"])("verifies a webhook whose bytes were read before into %s", async (name) => {
  const { body, headers } = signedRequest(sampleMessages.track, SECRET);
  const receiver = createReceiver({ secret: SECRET });
  const server = createHttpServer((request, response) => {
    const kept = request.resume().once("end", () => {
      const read = Object.assign(kept, { [name]: Buffer.from(body) });
      void receiver
        .receive(toWebhookRequest(read))
        .then(({ verdict }) => response.end(verdict === "verified" ? "verified by its bytes" : verdict));
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const response = await fetch(`http://127.0.0.1:${port}/`, { method: "POST", headers, body });
  expect(await response.text()).toBe("verified by its bytes");
});

/** A receiver that answers with each of the statuses in turn, and the bodies that it got. */
function keeping(statuses: number[]): { readonly bodies: string[]; readonly target: Target } {
  const bodies: string[] = [];
  const answer = async (request: Request): Promise<Response> => {
    bodies.push(await request.text());
    return new Response(null, { status: statuses.shift() ?? 204 });
  };
  return { bodies, target: { fetch: answer } };
}

it("sends a message again with bytes of Node for its body", async () => {
  const { bodies, target } = keeping([]);
  const sender = await createTestSender({ target });
  onTestFinished(() => sender.close());
  const receipt = await sender.track({ userId: "u1", event: "Order Completed" });
  await receipt.settled();
  const [delivery] = await sender.deliveries();
  const again = await sender.resend(delivery?.id ?? "", { body: Buffer.from('{"again":1}') });
  await again.settled();
  expect(bodies.at(-1)).toBe('{"again":1}');
});

it("sends the bodies that a file keeps", async () => {
  const folder = await mkdtemp(join(tmpdir(), "countersign-realms-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const { bodies, target } = keeping([503, 503]);
  const clock = virtualClock();
  const store = sqliteStore({ path: join(folder, "deliveries.db") });
  const sender = await createTestSender({ target, clock, store });
  onTestFinished(() => sender.close());
  await sender.track({ userId: "u1", event: "Order Completed" });
  await clock.advance("5h");
  expect(bodies).toHaveLength(3);
  expect(new Set(bodies)).toEqual(new Set([expect.stringContaining("Order Completed")]));
});

it("certifies a receiver", async () => {
  const receiver = createReceiver({ secret: SECRET, onRejected: () => {} });
  const server = createHttpServer((request, response) => {
    void receiver.receive(toWebhookRequest(request)).then((received) => {
      if (received.verdict === "verified") response.writeHead(204).end();
      else sendResponse(response, received.response);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const report = await certify({ url: `http://127.0.0.1:${port}/`, secret: SECRET });
  expect(report.results.filter(({ outcome }) => outcome === "failed")).toEqual([]);
});

it("takes a date of Node for a timestamp, and writes it in properties", async () => {
  const { mtime } = statSync(".");
  expect(parseTimestamp(mtime)).toBe(mtime.getTime());
  const messages: unknown[] = [];
  const analytics = new Analytics("KEY", {
    endpoint: "http://127.0.0.1:9",
    beforeSend: (message) => {
      messages.push(message);
      return null;
    },
  });
  analytics.track({ userId: "u1", event: "Saved", timestamp: mtime, properties: { mtime } });
  await analytics.close();
  expect(messages).toMatchObject([
    { timestamp: mtime.toISOString(), properties: { mtime: mtime.toISOString() } },
  ]);
});

it("refuses a date of Node in the place of an object, and names it", () => {
  for (const [traits, name] of [
    [statSync(".").mtime, "a Date"],
    [structuredClone(new Date(Number.NaN)), "an invalid Date"],
  ] as const) {
    const record = (): unknown =>
      recordCall("identify", { userId: "u1", traits }, { messageId: () => "m1", now: Date.now });
    expect(record).toThrow(`'traits' must be an object, not ${name}.`);
  }
});
