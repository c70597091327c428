import { Analytics, type AnalyticsOptions, type Outcome } from "@countersign/client";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { closedEndpoint, startService, type Service } from "./support/service.ts";

const USER_ID = "u1";
const FAST: AnalyticsOptions = { retry: { minDelay: 20, maxDelay: 40, giveUpAfter: 100 } };
const PATIENT: AnalyticsOptions = { retry: { minDelay: 1, maxDelay: 2 } };

async function deliver(service: Service, options: AnalyticsOptions = {}): Promise<Outcome> {
  const analytics = new Analytics("WRITE_KEY", { endpoint: service.url, ...FAST, ...options });
  const receipt = analytics.track({ userId: USER_ID, event: "E" });
  await analytics.close();
  return receipt;
}

/** A server that does with a connection what it is told, and speaks no HTTP. */
async function startRaw(onConnection: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on("error", () => {}));
    onConnection(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it("a batch over a real socket", async () => {
  const service = await startService();
  expect(await deliver(service)).toEqual({ status: "delivered" });
  const [request] = service.requests;
  expect(request?.headers).toMatchObject({
    authorization: `Basic ${Buffer.from("WRITE_KEY:").toString("base64")}`,
    "content-type": "application/json",
    "user-agent": expect.stringMatching(/^countersign-client\//),
  });
  expect(request?.headers["content-length"]).toMatch(/^\d+$/);
});

it("a write key beyond ASCII is sent in UTF-8", async () => {
  const service = await startService();
  const analytics = new Analytics("clé", { endpoint: service.url });
  analytics.track({ userId: USER_ID, event: "E" });
  await analytics.close();
  expect(service.requests[0]?.headers.authorization).toBe(`Basic ${Buffer.from("clé:").toString("base64")}`);
});

it("gzip", async () => {
  const service = await startService();
  expect(await deliver(service, { gzip: true })).toEqual({ status: "delivered" });
  expect(service.requests[0]?.headers["content-encoding"]).toBe("gzip");
  expect(service.messages).toMatchObject([{ event: "E" }]);
});

it("more headers, which cannot replace the protocol's own", async () => {
  const service = await startService();
  await deliver(service, {
    headers: { "X-Strict-Mode": "1", authorization: "none", "content-type": "text/plain" },
  });
  expect(service.requests[0]?.headers).toMatchObject({
    "x-strict-mode": "1",
    authorization: expect.stringMatching(/^Basic /),
    "content-type": "application/json",
  });
});

it("connections are kept alive from one batch to the next", async () => {
  const service = await startService();
  const analytics = new Analytics("WRITE_KEY", { endpoint: service.url, flushAt: 1, maxInFlight: 1 });
  for (let n = 0; n < 50; n += 1) analytics.track({ userId: USER_ID, event: "E" });
  await analytics.close();
  expect(service.messages).toHaveLength(50);
  expect(service.requests).toHaveLength(50);
  // fetch may open a second one when a request follows at once.
  expect(service.connections).toBeLessThanOrEqual(2);
});

describe("an endpoint that", () => {
  it("is down", async () => {
    const analytics = new Analytics("K", { endpoint: await closedEndpoint(), ...FAST });
    const receipt = analytics.track({ userId: USER_ID, event: "E" });
    expect(await analytics.flush()).toEqual({ delivered: 0, failed: 0, dropped: 1, pending: 0 });
    expect(await receipt).toMatchObject({ reason: "retries-exhausted", mayBeStored: false });
    expect(await receipt).toHaveProperty("detail", expect.stringContaining("ECONNREFUSED"));
  });

  it("does not exist", async () => {
    const analytics = new Analytics("K", { endpoint: "http://no-such-host.invalid", ...FAST });
    const receipt = analytics.track({ userId: USER_ID, event: "E" });
    await analytics.flush();
    expect(await receipt).toMatchObject({ reason: "retries-exhausted", mayBeStored: false });
  });

  it("hangs", async () => {
    const endpoint = await startRaw(() => {});
    const analytics = new Analytics("K", { endpoint, ...FAST, requestTimeout: 50 });
    const receipt = analytics.track({ userId: USER_ID, event: "E" });
    await analytics.flush();
    expect(await receipt).toMatchObject({ reason: "retries-exhausted", mayBeStored: true });
    expect(await receipt).toHaveProperty("detail", expect.stringContaining("nothing within 50 ms"));
  });

  it("hangs in the middle of its answer", async () => {
    const endpoint = await startRaw((socket) =>
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"succ'),
    );
    const analytics = new Analytics("K", { endpoint, ...FAST, requestTimeout: 50 });
    const receipt = analytics.track({ userId: USER_ID, event: "E" });
    await analytics.flush();
    expect(await receipt).toMatchObject({ reason: "retries-exhausted", mayBeStored: true });
  });

  it("never ends its answer", async () => {
    const endpoint = await startRaw((socket) => {
      socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
      const chunk = `10000\r\n${" ".repeat(0x10000)}\r\n`;
      const pour = (): boolean => !socket.destroyed && socket.write(chunk, () => setImmediate(pour));
      pour();
    });
    const analytics = new Analytics("K", { endpoint, ...FAST });
    analytics.track({ userId: USER_ID, event: "E" });
    // It is read as far as it says anything, and left.
    expect(await analytics.flush()).toMatchObject({ delivered: 1 });
  });

  it("resets", async () => {
    const endpoint = await startRaw((socket) => socket.once("data", () => socket.resetAndDestroy()));
    const analytics = new Analytics("K", { endpoint, ...FAST });
    const receipt = analytics.track({ userId: USER_ID, event: "E" });
    await analytics.flush();
    expect(await receipt).toMatchObject({ reason: "retries-exhausted", mayBeStored: true });
  });

  it("is not HTTP", async () => {
    const endpoint = await startRaw((socket) => socket.end("SSH-2.0-OpenSSH_9.2\r\n"));
    const analytics = new Analytics("K", { endpoint, ...FAST });
    const receipt = analytics.track({ userId: USER_ID, event: "E" });
    await analytics.flush();
    expect(await receipt).toMatchObject({ status: "dropped", reason: "retries-exhausted" });
  });

  it("answers HTML with status 200", async () => {
    const service = await startService();
    service.answer = (_, response) =>
      response.setHeader("content-type", "text/html").end("<html>Log in</html>");
    expect(await deliver(service)).toMatchObject({
      reason: "retries-exhausted",
      mayBeStored: true,
      detail: expect.stringContaining("not the service's answer"),
    });
  });

  it("redirects", async () => {
    const service = await startService();
    service.answer = (_, response) => response.writeHead(301, { location: "/elsewhere" }).end();
    expect(await deliver(service)).toMatchObject({
      reason: "redirected",
      detail: expect.stringContaining("/elsewhere"),
    });
    expect(service.requests).toHaveLength(1);
  });

  it.each([
    [401, "unauthorized"],
    [413, "too-large"],
  ])("answers %i", async (status, reason) => {
    const service = await startService();
    service.answer = (_, response) => response.writeHead(status).end(`{"success":false,"code":"no"}`);
    expect(await deliver(service)).toMatchObject({ status: "rejected", reason, statusCode: status });
  });

  it("says too many requests, and when to come again", async () => {
    const service = await startService();
    const came: number[] = [];
    service.answer = (_, response) => {
      came.push(Date.now());
      if (came.length === 2) service.answer = undefined;
      // A date has whole seconds, so this one is one to two seconds away.
      const date = new Date(Math.ceil(Date.now() / 1_000) * 1_000 + 1_000).toUTCString();
      response.sendDate = false;
      response.writeHead(429, { "retry-after": came.length === 1 ? "1" : date }).end();
    };
    expect(await deliver(service, PATIENT)).toEqual({ status: "delivered" });
    came.push(Date.now());
    expect((came[1] ?? 0) - (came[0] ?? 0)).toBeGreaterThanOrEqual(950);
    expect((came[2] ?? 0) - (came[1] ?? 0)).toBeGreaterThanOrEqual(950);
  });

  it("answers 500 a few times", async () => {
    const service = await startService();
    let failures = 3;
    service.answer = (_, response) => {
      failures -= 1;
      if (failures === 0) service.answer = undefined;
      response.writeHead(500).end("<h1>Oops</h1>");
    };
    expect(await deliver(service, PATIENT)).toEqual({ status: "delivered" });
    expect(service.requests.map(({ headers }) => headers["x-retry-count"])).toEqual([
      undefined,
      "1",
      "2",
      "3",
    ]);
    expect(new Set(service.requests.map((request) => request.batch.messageId)).size).toBe(1);
  });
});

it("a transport that ignores its signal, throws or returns nonsense holds no one up", async () => {
  const transports = [
    () => new Promise<never>(() => {}),
    () => {
      throw new Error("synchronously");
    },
    () => undefined as never,
    () => Promise.resolve({} as never),
  ];
  for (const send of transports) {
    const analytics = new Analytics("K", { transport: { send }, ...FAST, requestTimeout: 20 });
    const receipt = analytics.track({ userId: USER_ID, event: "E" });
    await analytics.close();
    expect(await receipt).toMatchObject({
      status: "dropped",
      reason: "retries-exhausted",
      mayBeStored: true,
    });
  }
});
