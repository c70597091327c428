import { cp, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import * as core from "@countersign/core";
import { sampleMessages } from "@countersign/core/testing";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { z } from "zod";
import { SECRET, webhookRequest } from "./support/requests.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Loads another copy of the package, as an app has where its adapter needs another version of it than the app. */
async function loadCopy(): Promise<typeof core> {
  const folder = await mkdtemp(join(root, "node_modules/.copy-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  for (const part of ["package.json", "dist"])
    await cp(join(root, part), join(folder, part), { recursive: true });
  return (await import(pathToFileURL(join(folder, "dist/index.js")).href)) as typeof core;
}

describe("two copies of the package in one app", () => {
  it("validates an event once where the receiver is of one and the router of the other", async () => {
    const copy = await loadCopy();
    expect(copy.createReceiver).not.toBe(core.createReceiver);
    const events = core.defineEvents({
      Paid: z.object({ at: z.string().transform((text) => new Date(text)) }),
    });
    const receiver = copy.createReceiver({ secret: SECRET, events });
    const handler = vi.fn<(at: number) => void>();
    const router = core
      .createRouter({ events })
      .on("track", "Paid", ({ properties }) => handler(properties.at.getTime()));
    const message = { ...sampleMessages.track, event: "Paid", properties: { at: "1970-01-01T00:00:05Z" } };
    const received = await receiver.receive(webhookRequest({ message }));
    if (received.verdict !== "verified") throw new Error("The message was not verified.");
    expect(await router.dispatch(received.webhook)).toMatchObject({ status: 204 });
    expect(handler.mock.calls).toEqual([[5_000]]);
  });

  it("reports an event once where the receiver is of one and the router of the other", async () => {
    const copy = await loadCopy();
    const validate = vi.fn<() => { issues: { message: string }[] }>(() => ({
      issues: [{ message: "wrong" }],
    }));
    const schema = { "~standard": { version: 1, vendor: "test", validate } } as const;
    const events = core.defineEvents({ Paid: schema });
    const receiver = copy.createReceiver({ secret: SECRET, events, invalidEvents: "report" });
    const router = core.createRouter({ events, invalidEvents: "report" }).otherwise(() => undefined);
    const message = { ...sampleMessages.track, event: "Paid" };
    const received = await receiver.receive(webhookRequest({ message }));
    if (received.verdict !== "verified") throw new Error("The message was not verified.");
    await router.dispatch(received.webhook);
    expect(validate).toHaveBeenCalledTimes(1);
  });
});
