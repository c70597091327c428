import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { sampleMessages } from "@countersign/core/testing";
import { describe, expect, it } from "vitest";
import { runCommand } from "../support/command.ts";
import { runHere } from "../support/run-here.ts";
import { startScriptedReceiver } from "../support/scripted-receiver.ts";
import { SECRET, startReceiver } from "../../../server/test/support/receiver.ts";
import { closing, temporaryDirectory } from "../../../../tests/support/resources.ts";

const TRACK = { type: "track", userId: "u1", event: "Ordered" };

function fileOf(text: string): string {
  const file = join(temporaryDirectory(), "calls.json");
  writeFileSync(file, text);
  return file;
}

describe("send --file", () => {
  it.each([
    ["JSON lines", `${JSON.stringify(TRACK)}\n\n${JSON.stringify({ ...TRACK, type: "track" })}\n`, 2],
    ["an array", JSON.stringify([TRACK, TRACK, TRACK], null, 2), 3],
    ["one object on several lines", JSON.stringify(TRACK, null, 2), 1],
  ])("sends %s", async (_title, text, count) => {
    const receiver = closing(await startReceiver());
    const { code, stdout } = await runCommand([
      "send",
      "--to",
      receiver.url,
      "--secret",
      SECRET,
      "--file",
      fileOf(text),
    ]);
    expect(receiver.webhooks).toHaveLength(count);
    expect(code).toBe(0);
    if (count > 1) expect(stdout).toContain(`${count} sent, ${count} delivered, 0 not.`);
  });

  it("sends each of the seven messages as a receiver saw it", async () => {
    const receiver = closing(await startReceiver());
    const messages = Object.values(sampleMessages);
    const text = messages.map((message) => `${JSON.stringify(message)}\n`).join("");
    const { code, stderr } = await runHere([
      "send",
      "--to",
      receiver.url,
      "--secret",
      SECRET,
      "--file",
      fileOf(text),
    ]);
    expect([code, stderr]).toEqual([0, ""]);
    for (const [index, message] of messages.entries()) {
      const { type, userId, timestamp } = message as { type: string; userId?: string; timestamp?: string };
      const seen = receiver.webhooks[index] as unknown as Record<string, unknown>;
      expect(seen).toMatchObject({ type, ...(userId && { userId }), ...(timestamp && { timestamp }) });
    }
  });

  it("sends messages that say how they arrived", async () => {
    const receiver = closing(await startReceiver());
    const at = "2026-01-31T08:30:00.000Z";
    const arrival = { channel: "web", originalTimestamp: at, sentAt: at, receivedAt: at };
    const text = Object.values(sampleMessages)
      .map((message) => `${JSON.stringify({ ...message, ...arrival })}\n`)
      .join("");
    const args = ["send", "--to", receiver.url, "--secret", SECRET, "--file", fileOf(text)];
    const { code, stderr } = await runHere(args);
    expect([code, stderr]).toEqual([0, ""]);
    expect(receiver.webhooks.map(({ type }) => type)).toEqual(Object.keys(sampleMessages));
    // They are those of the new message, which its sender does not include.
    for (const message of receiver.webhooks)
      for (const name in arrival) expect(message).not.toHaveProperty(name);
  });

  it("refuses a deletion with a field that it does not have, instead of dating it now", async () => {
    const receiver = closing(await startReceiver());
    const text = JSON.stringify({ type: "delete", userId: "u1", timestmp: "2026-01-31T08:30:00.000Z" });
    const args = ["send", "--to", receiver.url, "--secret", SECRET, "--file", fileOf(text)];
    const { code, stderr } = await runHere(args);
    expect([code, stderr]).toEqual([2, expect.stringContaining("has no field `timestmp`")]);
    expect(receiver.webhooks).toEqual([]);
  });

  it("sends the traits of a page as its properties", async () => {
    const receiver = closing(await startReceiver());
    const args = ["send", "page", "--to", receiver.url, "--secret", SECRET, "--set", "traits.plan=pro"];
    const { code, stderr } = await runHere(args);
    expect([code, stderr]).toEqual([0, ""]);
    expect(receiver.webhooks).toMatchObject([{ type: "page", properties: { plan: "pro" } }]);
  });

  it("reads standard input, and applies --set and the type to every call", async () => {
    const receiver = closing(await startReceiver());
    const { code } = await runCommand(
      [
        "send",
        "track",
        "--to",
        receiver.url,
        "--secret",
        SECRET,
        "--file",
        "-",
        "--set",
        "properties.plan=pro",
      ],
      { stdin: '{"userId":"a","event":"E"}\n{"userId":"b","event":"E"}\n' },
    );
    expect(code).toBe(0);
    expect(receiver.webhooks).toMatchObject([
      { userId: "a", properties: { plan: "pro" } },
      { userId: "b", properties: { plan: "pro" } },
    ]);
  });

  it.each([
    ["has no call in it", "", "Standard input has no messages."],
    ["has a call that is not valid", '{"type":"track","userId":"u"}\n', "Standard input: line 1: You must"],
    ["has a type that is none", '{"type":"trak"}\n', "Standard input: line 1 has the unknown type"],
  ])("names standard input in words where it %s", async (_what, stdin, says) => {
    const args = ["send", "--to", "http://127.0.0.1:9/", "--file", "-"];
    const { code, stderr } = await runHere(args, { stdin });
    expect([code, stderr]).toEqual([2, expect.stringContaining(`countersign: ${says}`)]);
  });

  it.each<[string, object, readonly string[]]>([
    ["turns webhooks off", { ...TRACK, integrations: { All: false } }, []],
    ["has no field that --set sets", { type: "page", userId: "u" }, ["--set", "event=Renamed"]],
    ["is a deletion with another field", { type: "delete", userId: "u", reason: "asked" }, []],
  ])("says which line %s", async (_what, wrong, flags) => {
    const receiver = closing(await startReceiver());
    const file = fileOf(`${JSON.stringify(TRACK)}\n${JSON.stringify(wrong)}\n`);
    const { code, stderr } = await runHere(["send", "--to", receiver.url, "--file", file, ...flags]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(`${file}: line 2: `)]);
  });

  it("has its times as ISO 8601 in JSON, as events and the API have them", async () => {
    const receiver = closing(await startReceiver());
    const { stdout } = await runHere(["send", "track", "--to", receiver.url, "--json"]);
    const { startedAt } = JSON.parse(stdout) as { startedAt: string };
    expect([startedAt, startedAt]).toEqual([expect.any(String), new Date(startedAt).toISOString()]);
  });

  it("ends with 1 when any message was not delivered, not only when all were not", async () => {
    const receiver = closing(await startReceiver());
    receiver.answers.push(500);
    const args = ["--to", receiver.url, "--secret", SECRET, "--file", fileOf(JSON.stringify([TRACK, TRACK]))];
    const { code, stdout } = await runHere(["send", ...args]);
    expect(stdout).toContain("2 sent, 1 delivered, 1 not.");
    expect(code).toBe(1);
    expect(receiver.attempts()).toBe(2);
  });

  it("sends one message after the other, in the order of the file, unless --concurrency is given", async () => {
    const receiver = closing(await startScriptedReceiver());
    const file = fileOf(JSON.stringify([{ ...TRACK, event: "Late" }, TRACK]));
    const { code, stdout } = await runHere(["send", "--to", receiver.url, "--file", file]);
    expect(stdout).toMatch(/item 1: delivered[^]*item 2: delivered/);
    expect(code).toBe(0);
  });

  it("gives each advice once, however many messages were not delivered", async () => {
    const receiver = closing(await startReceiver());
    const text = `${JSON.stringify(TRACK)}\n`.repeat(3);
    const { code, stdout, stderr } = await runHere(["send", "--to", receiver.url, "--file", fileOf(text)]);
    expect(stdout).toContain("3 sent, 0 delivered, 3 not.");
    expect(stderr.match(/Pass the secret/g)).toHaveLength(1);
    expect(code).toBe(1);
  });

  it.each<[string, string, RegExp]>([
    ["nothing", "\n", /has no messages\. Write one JSON object on each line\.$/m],
    ["text", "hello", /is not JSON: .*\. Give a file with one JSON object on each line/],
    ["a number", "7", /the call is not an object\./],
    ["an array of numbers", "[1]", /item 1 is not an object\./],
    [
      "a call without a type",
      '{"userId":"u"}',
      /line 1 has no `type` that is a string\. The types are track, page,/,
    ],
    [
      "an unknown type",
      '{"type":"tarck"}',
      /line 1 has the unknown type "tarck"\. The types are track, page,/,
    ],
    [
      "a call that is not valid",
      `${JSON.stringify(TRACK)}\n{"type":"track","userId":"u"}`,
      /line 2: You must pass 'event'\./,
    ],
    ["a line that is cut off", `${JSON.stringify(TRACK)}\n{"type":"tra`, /Line 2 is cut off\./],
    [
      "an integer that would change",
      `[${JSON.stringify(TRACK)},{"type":"track","userId":"u","event":"E","properties":{"id":9007199254740993}}]`,
      /item 2: properties\.id is a number that JavaScript does not keep: .* Write it as a string\./,
    ],
  ])("of %s is told with its place", async (_title, text, message) => {
    const receiver = closing(await startReceiver());
    const { code, stderr } = await runHere([
      "send",
      "--to",
      receiver.url,
      "--secret",
      SECRET,
      "--file",
      fileOf(text),
    ]);
    expect(stderr).toMatch(message);
    expect(code).toBe(2);
  });

  it("of a file that is not there says so", async () => {
    const { code, stderr } = await runHere(["send", "--to", "http://127.0.0.1:9/", "--file", "none.json"]);
    expect(stderr).toMatch(/^countersign: Cannot read none\.json: ENOENT/);
    expect(code).toBe(2);
  });
});
