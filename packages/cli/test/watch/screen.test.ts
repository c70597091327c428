import stringWidth from "string-width";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { send } from "../../../server/test/support/http.ts";
import {
  hasPseudoTerminals,
  startOnTerminal,
  withoutColours,
  type CommandOnTerminal,
} from "../support/pty.ts";
import {
  RECEIVER_SECRET,
  startScriptedReceiver,
  type ScriptedReceiver,
} from "../support/scripted-receiver.ts";

interface Screen {
  readonly columns: number;
  readonly coloured: boolean;
}

const SCREENS: readonly Screen[] = [
  { columns: 80, coloured: true },
  { columns: 80, coloured: false },
  { columns: 120, coloured: true },
  { columns: 120, coloured: false },
];
const ZONE = "Asia/Kolkata";
const LONG_EVENT = "Chose the second of two shipping";
const CTRL_C = "\u0003";

/** What each screen has shown from start to end. */
const shown = new Map<Screen, string>();
let startedAt: Date;

/** One server on one terminal, which meets everything that a receiver can do. */
async function show({ columns, coloured }: Screen): Promise<string> {
  const receiver = await startScriptedReceiver();
  const args = ["serve", "--port", "0", "--to", receiver.url, "--secret", RECEIVER_SECRET];
  const env = { TZ: ZONE, ...(!coloured && { NO_COLOR: "1" }) };
  const command = startOnTerminal(args, { columns, env });
  try {
    await meetEverything(command, receiver);
    command.type(CTRL_C);
    expect(await command.ended).toBe(0);
    return command.shown();
  } finally {
    command.stop();
    await receiver.close();
  }
}

async function meetEverything(command: CommandOnTerminal, receiver: ScriptedReceiver): Promise<void> {
  const [, url = ""] = await command.printed(/listens on (http:[\w.:/]+)/);
  await command.printed(/Try it/);
  const track = (event: string, userId = "u-1004"): Promise<unknown> =>
    send(`${url}/v1/track`, { method: "POST", body: { writeKey: "any", userId, event } });
  const withFault = async (fault: string, event: string): Promise<void> => {
    await send(`${url}/api/faults`, { method: "POST", body: { fault } });
    const before = receiver.events.length;
    await track(event);
    await vi.waitFor(() => expect(receiver.events.length).toBeGreaterThan(before));
    await command.printed(new RegExp(`"${event}"`));
  };
  await withFault("bad_signature", "Fake");
  await withFault("missing_signature", "Naive");
  await track("Slow");
  for (const event of ["Boom", "Denied", "Hang up", "Late", "Missing", "Moved", LONG_EVENT])
    await track(event);
  await track(`${LONG_EVENT} of 日本`, "somebody@a-rather-long-name.example");
  await command.printed(/"Denied"/);
  await track("Denied", "u-1005");
  await command.printed(/u-1005 .*401 in/);
  // If the machine stands still meanwhile, it is the answer to the second attempt.
  await command.printed(/"Slow" .*of 5/);
}

describe.skipIf(!hasPseudoTerminals)("what a pseudo-terminal shows", () => {
  beforeAll(async () => {
    startedAt = new Date();
    await Promise.all(SCREENS.map(async (screen) => shown.set(screen, await show(screen))));
  }, 120_000);

  /** The screen without colours. */
  const textOf = (screen: Screen): string => withoutColours(shown.get(screen) ?? "");
  /** The line about what came of an event. Before it is one that it was accepted, if the answer took a while. */
  const lineOf = (screen: Screen, event: string): string =>
    (shown.get(screen) ?? "").split("\n").find((line) => {
      const words = withoutColours(line);
      return words.includes(`"${event}`) && !words.includes("accepted, no answer yet");
    }) ?? "";
  const green = "\u001B[32m";
  const yellow = "\u001B[33m";
  const red = "\u001B[31m";
  const bold = "\u001B[1m";

  describe.each(SCREENS)("of $columns columns, with colours: $coloured", (screen) => {
    const { columns, coloured } = screen;
    /** A coloured text where there are colours, so that a missing colour is a failure, and so is one too many. */
    const toned = (tone: string, text: string): string => (coloured ? tone + text : text);

    it("has no line about a message that is wider than it, and none that is cut without need", () => {
      const [, lines = ""] = textOf(screen).split(/^Try it.*\n/m);
      const widths = lines.split("\n").map((line) => stringWidth(line));
      const [stopping] = widths.splice(
        lines.split("\n").findIndex((line) => line.includes("SIGINT")),
        1,
      );
      expect(stopping).toBeGreaterThan(0);
      expect(Math.max(...widths)).toBeLessThanOrEqual(columns);
      expect(
        textOf(screen).includes(`"${LONG_EVENT} of 日本" somebody@a-rather-long-name.example  204`),
      ).toBe(columns === 120);
      expect(textOf(screen)).toMatch(new RegExp(`"${LONG_EVENT}" u-1004 {2}204 in`));
    });

    it("has colours, or not one escape sequence", () => {
      expect(shown.get(screen)?.includes("\u001B")).toBe(coloured);
    });

    it("a failure: local time, short id, status, when it is tried again, and what the receiver said", () => {
      const line = withoutColours(lineOf(screen, "Boom"));
      const [, again] =
        /^\d\d:\d\d:\d\d [\da-f]{4} track "Boom" u-1004 {2}500 in [\d.]+ m?s {2}again in ([\d.]+) s \(2nd try(?:, until \d\d:\d\d)?\)$/.exec(
          line,
        ) ?? [];
      expect({ line, again }).toEqual({ line, again: expect.stringMatching(/^\d(?:\.\d)?$/) });
      expect(lineOf(screen, "Boom")).toContain(toned(red, "500 in"));
      expect(lineOf(screen, "Boom")).toContain(toned(yellow, "again in"));
      expect(textOf(screen)).toContain('\n              "The database is not there."\n');
      expect(line.includes(", until ")).toBe(columns === 120);
    });

    it("the time is that of this place, and the end of the retries four hours later", () => {
      const time = (at: number): string =>
        new Date(at).toLocaleTimeString("en-GB", { timeZone: ZONE, hour: "2-digit", minute: "2-digit" });
      const near = [-60_000, 0, 60_000].map((ms) => startedAt.getTime() + ms);
      const line = withoutColours(lineOf(screen, "Boom"));
      expect(near.map(time)).toContain(line.slice(0, 5));
      const [, until] = /until (\d\d:\d\d)/.exec(line) ?? [];
      if (columns === 120) expect(near.map((at) => time(at + 14_400_000))).toContain(until);
    });

    it("advice: once for an endpoint and a kind, in whole words", () => {
      const denied = [
        ...textOf(screen).matchAll(/"Denied" u-100\d {2}401 in [\d.]+ m?s {2}failed, not retried/g),
      ];
      expect(denied).toHaveLength(2);
      expect(textOf(screen).match(/→ The receiver did not accept the signature\./g)).toHaveLength(1);
      expect(textOf(screen).match(/"The X-Signature header does not match the body\."/g)).toHaveLength(2);
      expect(textOf(screen)).toMatch(/→ No route handles this path\./);
      expect(textOf(screen).replaceAll(/\s+/g, " ")).toMatch(
        /Use http:\/\/127\.0\.0\.1:\d+\/elsewhere as the URL\./,
      );
    });

    it("words in place of a code", () => {
      const line = withoutColours(lineOf(screen, "Hang up"));
      expect(line).toMatch(/u-1004 {2}closed the connection be.* {2}again in/);
      expect(line.includes("before answering, after")).toBe(columns === 120);
      expect(textOf(screen)).not.toContain("UND_ERR");
    });

    it("accepted, when there is no answer within 300 ms, and not when there is one", () => {
      const accepted = [...textOf(screen).matchAll(/"(\w+)" u-1004 {2}accepted, no answer yet/g)].map(
        ([, event]) => event,
      );
      expect(accepted).toEqual(expect.arrayContaining(["Slow", "Late"]));
      expect(textOf(screen)).toMatch(/"Late" u-1004 {2}204 in [\d.]+ m?s/);
    });

    it("an answer that was nearly too late in yellow, with the time that there is", () => {
      const [line = ""] = /"Slow" u-1004 {2}.*of 5.*/.exec(shown.get(screen) ?? "") ?? [];
      expect(withoutColours(line)).toMatch(/^"Slow" u-1004 {2}204 in 4\.\d s of 5$/);
      expect(line).toContain(toned(yellow, "204 in 4."));
    });

    it("a refused forgery in green, as it should be", () => {
      expect(lineOf(screen, "Fake")).toContain(toned(green, "rejected  bad_signature: 401, as it should be"));
      expect(lineOf(screen, "Fake")).not.toContain(red);
      expect(textOf(screen)).not.toMatch(/as it should be {2}/);
    });

    it("an accepted forgery in bold red, with advice, and again as the last line", () => {
      const alarm = coloured ? `${bold}${red}ACCEPTED A FORGERY` : "ACCEPTED A FORGERY";
      expect(lineOf(screen, "Naive")).toContain(`${alarm}  missing_signature: 204`);
      expect(textOf(screen).replaceAll(/\s+/g, " ")).toContain(
        "→ The receiver accepts messages without a signature,",
      );
      const last = shown.get(screen)?.trimEnd().split("\n").at(-1) ?? "";
      expect(last.startsWith(alarm)).toBe(true);
      expect(withoutColours(last)).toMatch(/^ACCEPTED A FORGERY: missing_signature at http:\S+\/webhooks$/);
    });

    it("the sums at the end, with what is gone because nothing was kept", () => {
      expect(textOf(screen)).toMatch(
        /\n12 accepted, \d delivered, \d failed, 1 forgery rejected, \d waiting \(gone: no\s--data\)\n/,
      );
      const [, ...numbers] =
        /(\d+) accepted, (\d) delivered, (\d) failed, 1 forgery rejected, (\d) waiting/.exec(
          textOf(screen),
        ) ?? [];
      const [accepted = 0, delivered = 0, failed = 0, waiting = 0] = numbers.map(Number);
      expect(delivered + failed + 1 + waiting).toBe(accepted);
    });
  });
});
