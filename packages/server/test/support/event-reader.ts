import { vi, expect } from "vitest";
import { cleanUp } from "../../../../tests/support/resources.ts";

/** A reader of `/api/events`. */
export interface EventReader {
  /** Every event so far, those of bundles too. */
  readonly events: () => readonly Readonly<Record<string, unknown>>[];
  /** Their names. */
  readonly names: () => readonly unknown[];
  /** How many messages they came in. */
  readonly messages: () => number;
  readonly ended: Promise<unknown>;
}

/** Opens the stream, and resolves when its first message is there. */
export async function readEvents(
  url: string,
  { headers = {}, query = "" }: { headers?: Record<string, string>; query?: string } = {},
): Promise<EventReader> {
  const controller = new AbortController();
  cleanUp(() => controller.abort());
  const response = await fetch(`${url}/api/events${query}`, { headers, signal: controller.signal });
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  const events: Record<string, unknown>[] = [];
  let messages = 0;
  const drain = async (): Promise<void> => {
    let rest = "";
    for await (const chunk of response.body ?? []) {
      const parts = (rest + Buffer.from(chunk).toString()).split("\n\n");
      rest = parts.pop() ?? "";
      for (const part of parts) {
        const data = /^data: (.*)$/m.exec(part)?.[1];
        if (data === undefined) continue;
        messages += 1;
        const parsed = [JSON.parse(data)].flat();
        expect(/^id: (.*)$/m.exec(part)?.[1]).toBe(parsed.at(-1).id);
        events.push(...parsed);
      }
    }
  };
  const ended = drain().catch(() => {});
  await vi.waitFor(() => expect(events.length).toBeGreaterThan(0));
  return {
    events: () => events,
    names: () => events.map(({ event }) => event),
    messages: () => messages,
    ended,
  };
}
