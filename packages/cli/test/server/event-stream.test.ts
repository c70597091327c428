import { createServer, type CountersignServer } from "countersign";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { send } from "../support/http.ts";
import { secret, startReceiver } from "../support/receiver.ts";
import { cleanUp, closing } from "../support/resources.ts";

let server: CountersignServer;

beforeEach(async () => {
  const receiver = closing(await startReceiver());
  server = closing(await createServer({ to: receiver.url, secret, port: 0 }));
});

interface Reader {
  readonly text: () => string;
  readonly ended: Promise<unknown>;
}

async function read(headers: Record<string, string> = {}): Promise<Reader> {
  const controller = new AbortController();
  cleanUp(() => controller.abort());
  const response = await fetch(`${server.url}/api/events`, { headers, signal: controller.signal });
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  let text = "";
  const drain = async (): Promise<void> => {
    for await (const chunk of response.body ?? []) text += Buffer.from(chunk).toString();
  };
  return { text: () => text, ended: drain().catch(() => {}) };
}

const record = (event: string): Promise<unknown> =>
  send(`${server.url}/v1/track`, { method: "POST", body: { writeKey: "any", userId: "u", event } });

const namesIn = (text: string): string[] =>
  [...text.matchAll(/^event: (\w+)$/gm)].map(([, name]) => name ?? "");

describe("the event stream", () => {
  it("tells every reader of attempts, ends and rejections", async () => {
    const readers = [await read(), await read()];
    await record("Ordered");
    await server.sender.idle();
    await record("");
    for (const { text } of readers) {
      await vi.waitFor(() => expect(namesIn(text())).toEqual(["attempt", "delivered", "rejected"]));
      expect(text()).toContain('"reason":"missing_event"');
      expect(text()).toMatch(/^id: 1$/m);
    }
  });

  it("gives a reader that comes back what it missed", async () => {
    await record("Ordered");
    await server.sender.idle();
    const reader = await read({ "last-event-id": "1" });
    await vi.waitFor(() => expect(namesIn(reader.text())).toEqual(["delivered"]));
  });

  it("ends when the server closes", async () => {
    const reader = await read();
    // Long enough for the test to fail if the stream held the server open until then.
    await server.close({ deadlineMs: 60_000 });
    await reader.ended;
    expect(reader.text()).toContain("retry: 1000");
  });
});
