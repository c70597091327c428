import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { connect } from "node:net";
import { fileURLToPath } from "node:url";
import { CallError, sqliteStore } from "@countersign/sender";
import { virtualClock } from "@countersign/sender/testing";
import { createServer, type CountersignServer, type ServerOptions } from "@countersign/server";
import { describe, expect, it, vi } from "vitest";
import { isWindows } from "../../../core/test/support/windows.ts";
import { portOf, startReceiver, SECRET, type Receiver } from "../support/receiver.ts";
import { cleanUp, closing, temporaryDirectory } from "../../../../tests/support/resources.ts";

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

async function post(server: CountersignServer, path: string, body: object, headers = {}): Promise<Answer> {
  const response = await fetch(`${server.url}/v1/${path}`, {
    method: "POST",
    body: JSON.stringify({ writeKey: "any", ...body }),
    headers,
  });
  return { status: response.status, body: await response.json() };
}

async function start(
  options: ServerOptions = {},
): Promise<{ server: CountersignServer; receiver: Receiver }> {
  const receiver = closing(await startReceiver());
  const server = closing(await createServer({ to: receiver.url, secret: SECRET, port: 0, ...options }));
  return { server, receiver };
}

const track = (messageId: string): object => ({ type: "track", event: "Ordered", userId: "u", messageId });
const idsOf = ({ webhooks }: Receiver): unknown[] =>
  webhooks.map((message) => "messageId" in message && message.messageId);
const OK = { status: 200, body: { success: true } };

describe("repeats", () => {
  it("forwards no message twice when a client sends its batch again", async () => {
    const { server, receiver } = await start();
    const batch = { batch: [track("a"), track("b"), track("a")] };
    expect(await post(server, "batch", batch)).toEqual(OK);
    expect(await post(server, "batch", batch)).toEqual(OK);
    expect(await post(server, "track", track("b"))).toEqual(OK);
    await server.sender.idle();
    expect(idsOf(receiver).toSorted()).toEqual(["a", "b"]);
  });

  it("forwards no message twice when a batch arrives five times at once", async () => {
    const { server, receiver } = await start();
    const batch = { batch: Array.from({ length: 50 }, (_, index) => track(`m${index}`)) };
    const answers = await Promise.all(Array.from({ length: 5 }, () => post(server, "batch", batch)));
    expect(answers).toEqual(answers.map(() => OK));
    await server.sender.idle();
    expect(receiver.webhooks).toHaveLength(50);
  });

  it("knows the items of a batch without their own ids by the batch's", async () => {
    const { server, receiver } = await start();
    const batch = {
      messageId: "batch-1",
      batch: [
        { type: "identify", userId: "u1" },
        { type: "identify", userId: "u2" },
      ],
    };
    await post(server, "batch", batch);
    await post(server, "batch", batch);
    await server.sender.idle();
    expect(receiver.webhooks).toHaveLength(2);
  });

  it("stores a call once, though the server is killed between storing it and answering", async () => {
    const data = temporaryDirectory();
    const script = fileURLToPath(new URL("../support/child-killed-before-answer.mjs", import.meta.url));
    const to = "http://127.0.0.1:9/";
    const child = spawn(process.execPath, [script, data, to], { stdio: ["ignore", "pipe", "inherit"] });
    cleanUp(() => child.kill("SIGKILL"));
    const [url] = (await once(child.stdout, "data")) as [Buffer];
    const killed = once(child, "exit");
    await expect(post({ url: url.toString() } as CountersignServer, "track", track("a"))).rejects.toThrow(
      "fetch failed",
    );
    // Windows has no signals: a process that ends itself so has an exit code.
    expect(await killed).toEqual(isWindows ? [1, null] : [null, "SIGKILL"]);
    const server = closing(await createServer({ to, data, port: 0 }));
    expect(await server.sender.count({})).toBe(1);
    // The client sends again what nobody answered.
    expect(await post(server, "track", track("a"))).toEqual(OK);
    expect(await server.sender.count({})).toBe(1);
  });

  it("keeps sources apart", async () => {
    const receiver = closing(await startReceiver());
    const destinations = [{ endpoints: [{ url: receiver.url }], secret: SECRET }];
    const sources = ["one", "two"].map((name) => ({ name, writeKey: `key-${name}`, destinations }));
    const server = closing(await createServer({ sources, port: 0 }));
    await post(server, "track", { ...track("a"), writeKey: "key-one" });
    await post(server, "track", { ...track("a"), writeKey: "key-two" });
    await post(server, "track", { ...track("a"), writeKey: "key-three" });
    await server.sender.idle();
    expect(idsOf(receiver)).toEqual(["a", "a"]);
    const rejections = await (await fetch(`${server.url}/api/rejections`)).json();
    expect(rejections).toMatchObject([{ reason: "unknown_write_key" }]);
  });

  it.each(["with a default source", "without one"])(
    "finds the source whose write key, or whose name, has a colon: %s",
    async (title) => {
      const receiver = closing(await startReceiver());
      const destinations = [{ endpoints: [{ url: receiver.url }], secret: SECRET }];
      const sources = [{ name: "eu:shop", destinations }];
      const server = closing(
        title === "without one"
          ? await createServer({ sources, port: 0 })
          : await createServer({ to: receiver.url, secret: SECRET, port: 0 }),
      );
      await server.control("PUT", "/sources/eu:shop", {});
      const headers = { Authorization: `Basic ${Buffer.from("eu:shop:").toString("base64")}` };
      const body = JSON.stringify({ userId: "u1", event: "Ordered" });
      await fetch(`${server.url}/v1/track`, { method: "POST", headers, body });
      const { calls } = await server.sender.skipped();
      const { deliveries } = await server.sender.summaries();
      expect([...calls, ...deliveries]).toMatchObject([{ source: "eu:shop" }]);
    },
  );

  it("remembers for 24 hours, not longer", async () => {
    const clock = virtualClock();
    const { server, receiver } = await start({ clock });
    await post(server, "track", track("a"));
    await clock.advance("23h");
    await post(server, "track", track("a"));
    await clock.advance("2h");
    expect(receiver.webhooks).toHaveLength(1);
    await post(server, "track", track("a"));
    await clock.advance(1);
    expect(receiver.webhooks).toHaveLength(2);
  });

  it("remembers across a restart", async () => {
    const receiver = closing(await startReceiver());
    const options = { to: receiver.url, secret: SECRET, port: 0, data: temporaryDirectory() };
    for (let run = 0; run < 3; run += 1) {
      const server = await createServer(options);
      await post(server, "batch", { batch: [track("a"), track(`run-${run}`)] });
      await server.sender.idle();
      await server.close();
    }
    expect(idsOf(receiver).toSorted()).toEqual(["a", "run-0", "run-1", "run-2"]);
  });
});

describe("what cannot be stored", () => {
  it("is answered 503, and forwarded once when the client comes again", async () => {
    const { server, receiver } = await start();
    const failing = vi.spyOn(server.sender, "accept").mockRejectedValueOnce(new Error("disk full"));
    const batch = { batch: [track("a"), track("b")] };
    expect(await post(server, "batch", batch)).toMatchObject({ status: 503, body: { code: "unavailable" } });
    failing.mockRestore();
    expect(await post(server, "batch", batch)).toEqual(OK);
    await server.sender.idle();
    expect(idsOf(receiver).toSorted()).toEqual(["a", "b"]);
  });
});

describe("what the engine refuses", () => {
  it("is kept as rejected, and the rest of its batch goes through", async () => {
    const { server, receiver } = await start();
    const refusal = new CallError("ERR_CALL_TOO_LARGE", "The call is too large.");
    // Once for the batch, once for the first of its calls.
    vi.spyOn(server.sender, "accept").mockRejectedValueOnce(refusal).mockRejectedValueOnce(refusal);
    expect(await post(server, "batch", { batch: [track("a"), track("b")] })).toEqual(OK);
    await server.sender.idle();
    expect(idsOf(receiver)).toEqual(["b"]);
    const rejections = await (await fetch(`${server.url}/api/rejections`)).json();
    expect(rejections).toMatchObject([
      { reason: "refused_by_sender", detail: "The call is too large.", messageId: "a" },
    ]);
  });
});

describe("what is forwarded", () => {
  it("has the client's time by our clock, the connection's address, and no field of the wire", async () => {
    const clock = virtualClock("2026-01-01T12:00:00.000Z");
    const { server, receiver } = await start({ clock });
    await post(server, "batch", {
      sentAt: "2026-01-01T13:00:10.000Z",
      context: { direct: true, library: { name: "any" } },
      batch: [
        {
          ...track("a"),
          timestamp: "2026-01-01T13:00:00.000Z",
          anonymousId: null,
          _metadata: {},
          channel: "server",
        },
      ],
    });
    await clock.advance(1);
    expect(receiver.webhooks).toEqual([
      {
        version: 1,
        type: "track",
        messageId: "a",
        userId: "u",
        event: "Ordered",
        properties: {},
        timestamp: "2026-01-01T11:59:50.000Z",
        context: { direct: true, library: { name: "any" }, ip: "127.0.0.1" },
      },
    ]);
  });

  it("leaves out what the call's integrations turn off", async () => {
    const { server, receiver } = await start();
    await post(server, "track", { ...track("off"), integrations: { All: false } });
    await post(server, "track", { ...track("on"), integrations: { All: false, Webhooks: true } });
    await server.sender.idle();
    expect(idsOf(receiver)).toEqual(["on"]);
  });

  it("locks the store against another server", async () => {
    const data = temporaryDirectory();
    const { receiver } = await start({ data });
    await expect(createServer({ to: receiver.url, port: 0, data })).rejects.toMatchObject({
      code: "ERR_STORE_LOCKED",
    });
    await expect(
      sqliteStore({ path: `${data}/deliveries.db` }).open({
        clock: virtualClock(),
        ended: () => {},
        missed: () => {},
        told: () => {},
        failed: () => {},
        stateChanged: () => {},
      }),
    ).rejects.toThrow(/open in another sender/);
  });
});

describe("a server that closes", () => {
  it("leaves no resource behind that would keep its process alive", async () => {
    const script = fileURLToPath(new URL("../support/child-lifecycle.mjs", import.meta.url));
    const child = spawn(process.execPath, [script, temporaryDirectory()], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    cleanUp(() => child.kill("SIGKILL"));
    let output = "";
    child.stdout.on("data", (data: Buffer) => (output += data.toString()));
    const [code] = await once(child, "close");
    expect([code, output]).toEqual([0, "closed\n"]);
  });

  it("does not wait for a connection on which nothing was sent, as browsers open them ahead", async () => {
    const { server } = await start();
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
    cleanUp(() => socket.destroy());
    await once(socket, "connect");
    // The server has accepted it before it answers a later one.
    await fetch(`${server.url}/healthz`);
    const closed = once(socket, "close");
    let isClosed = false;
    // An hour: it is closed before that, or not in this test.
    void server.close({ deadlineMs: 3_600_000 }).then(() => (isClosed = true));
    await expect.poll(() => isClosed).toBe(true);
    await closed;
  });

  it("gives attempts in progress their time, though the clock of the machine is set forward", async () => {
    let answer = (): void => {};
    const slow = createHttpServer((request, response) => {
      request.resume();
      answer = () => void response.writeHead(204).end();
    });
    await once(closing(slow).listen(0, "127.0.0.1"), "listening");
    const ended: unknown[] = [];
    const server = closing(await createServer({ to: `http://127.0.0.1:${portOf(slow)}/`, port: 0 }));
    server.sender.on("delivered", ({ delivery }) => ended.push(delivery.event));
    const arrived = once(slow, "request");
    await server.sender.track({ userId: "u", event: "Ordered" });
    await arrived;
    const now = Date.now() + 3_600_000;
    const closed = server.close();
    const clock = vi.spyOn(Date, "now").mockReturnValue(now);
    cleanUp(() => clock.mockRestore());
    await vi.waitFor(() => expect(fetch(`${server.url}/healthz`)).rejects.toThrow("fetch failed"));
    answer();
    await closed;
    expect(ended).toEqual(["Ordered"]);
  });

  it("stores what arrives on an open connection, and answers it", async () => {
    const { server } = await start();
    const body = JSON.stringify({ writeKey: "any", ...track("late") });
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
    cleanUp(() => socket.destroy());
    let answer = "";
    socket.on("data", (data: Buffer) => (answer += data.toString()));
    await once(socket, "connect");
    socket.write("POST /v1/track HTTP/1.1\r\nHost: localhost\r\n");
    await vi.waitFor(async () => expect((await fetch(`${server.url}/healthz`)).status).toBe(200));
    const closed = server.close();
    await vi.waitFor(() => expect(fetch(`${server.url}/healthz`)).rejects.toThrow("fetch failed"));
    socket.write(`Content-Length: ${body.length}\r\n\r\n${body}`);
    await vi.waitFor(() => expect(answer).toContain("HTTP/1.1 200 OK"));
    expect(answer).toContain('{"success":true}');
    await closed;
  });
});
