import { once } from "node:events";
import { connect } from "node:net";
import { memoryDedupe, type DedupeStore } from "@countersign/core";
import { sampleMessages, signedRequest } from "@countersign/core/testing";
import type { Response } from "supertest";
import { afterEach, describe, expect, it, vi } from "vitest";
import { post } from "./support/post.ts";
import { asWritten, wireBytes } from "./support/raw-exchange.ts";
import { receivers, start, type RunningReceiver } from "./support/receivers.ts";

const SECRET = "secret";
const delivery = signedRequest(sampleMessages.track, SECRET);

/** A handler whose every run waits until the test ends it. */
function heldHandler(): {
  readonly handle: () => Promise<void>;
  readonly runs: { readonly succeed: () => void; readonly fail: () => void }[];
} {
  const runs: { succeed: () => void; fail: () => void }[] = [];
  const handle = (): Promise<void> =>
    new Promise((resolve, reject) => {
      runs.push({ succeed: resolve, fail: () => reject(new Error("database down")) });
    });
  return { handle, runs };
}

describe.each(receivers)("$name", (receiver) => {
  let running: RunningReceiver;
  afterEach(() => running.close());
  const deliver = (): Promise<Response> => post(running.url, delivery);

  /** Delivers over a connection that breaks while the handler runs, as a sender with a time limit does. */
  async function deliverAndHangUp(handlerRuns: () => void): Promise<void> {
    const { port } = new URL(running.url);
    const arrived = once(running.server, "request") as Promise<[unknown, NodeJS.EventEmitter]>;
    const socket = connect(Number(port), "127.0.0.1");
    socket.write(wireBytes(running.url, asWritten(delivery)));
    const [, response] = await arrived;
    await vi.waitFor(handlerRuns);
    const gone = once(response, "close");
    socket.destroy();
    await gone;
  }

  it("runs the handler once for a delivery that comes five times at once, and once later", async () => {
    const { handle, runs } = heldHandler();
    running = await start(receiver, { secret: SECRET, dedupe: memoryDedupe(), handle });
    const answers: Response[] = [];
    const all = [1, 2, 3, 4, 5].map(async () => answers.push(await deliver()));
    await vi.waitFor(() => expect(answers).toHaveLength(4));
    expect(runs).toHaveLength(1);
    runs[0]?.succeed();
    await Promise.all(all);
    expect(answers.map(({ status }) => status)).toEqual([503, 503, 503, 503, 204]);
    for (const answer of answers.filter(({ status }) => status === 503)) {
      expect(answer.headers["retry-after"]).toBe("5");
      expect(answer.body).toMatchObject({ code: "ERR_DUPLICATE_IN_FLIGHT" });
    }
    expect((await deliver()).status).toBe(200);
    expect(runs).toHaveLength(1);
  });

  it("runs a handler again that failed, whose failure was a 500", async () => {
    const { handle, runs } = heldHandler();
    running = await start(receiver, { secret: SECRET, dedupe: memoryDedupe(), handle });
    const failed = deliver();
    await vi.waitFor(() => expect(runs).toHaveLength(1));
    runs[0]?.fail();
    expect((await failed).status).toBe(500);
    const repeated = deliver();
    await vi.waitFor(() => expect(runs).toHaveLength(2));
    runs[1]?.succeed();
    expect((await repeated).status).toBe(204);
    expect((await deliver()).status).toBe(200);
    expect(runs).toHaveLength(2);
  });

  it("does not run a handler again that succeeded after the sender had hung up", async () => {
    const { handle, runs } = heldHandler();
    running = await start(receiver, { secret: SECRET, dedupe: memoryDedupe(), handle });
    await deliverAndHangUp(() => expect(runs).toHaveLength(1));
    expect((await deliver()).status).toBe(503);
    runs[0]?.succeed();
    await vi.waitFor(async () => expect((await deliver()).status).toBe(200));
    expect(runs).toHaveLength(1);
  });

  it("runs a handler again that failed after the sender had hung up", async () => {
    const { handle: held, runs } = heldHandler();
    const handle = vi.fn<() => Promise<void>>(async () => {}).mockImplementationOnce(held);
    running = await start(receiver, { secret: SECRET, dedupe: memoryDedupe(), handle });
    await deliverAndHangUp(() => expect(runs).toHaveLength(1));
    runs[0]?.fail();
    await vi.waitFor(async () => expect((await deliver()).status).toBe(204));
    expect(handle).toHaveBeenCalledTimes(2);
  });

  it("answers 500 and runs nothing while the store cannot say", async () => {
    const handle = vi.fn<() => void>();
    const dedupe: DedupeStore = { ...memoryDedupe(), claim: () => Promise.reject(new Error("store down")) };
    running = await start(receiver, { secret: SECRET, dedupe, handle });
    expect((await deliver()).status).toBe(500);
    expect(handle).not.toHaveBeenCalled();
  });
});
