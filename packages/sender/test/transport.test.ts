import type { LookupAddress } from "node:dns";
import { EventEmitter, getEventListeners, once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { noAnswer } from "../dist/explain.js";
import { hasIpv6, noIpv6 } from "../../core/test/support/ipv6.ts";
import { freePort } from "../../../tests/support/free-port.ts";
import { passTime } from "../../../tests/support/pass-time.ts";
import { createTransport, type TransportOptions } from "../dist/transport/create-transport.js";
import type { AttemptOutcome } from "../dist/delivery/attempt.js";
import type { AttemptRequest, AttemptResult, Transport } from "../dist/transport/transport.js";
import { afterHead, httpEndpoint, rawEndpoint } from "./support/endpoints.ts";

const body = new TextEncoder().encode('{"type":"track","event":"Größe ☃"}');

function transport(options?: TransportOptions): Transport {
  const created = createTransport(options);
  onTestFinished(() => created.close());
  return created;
}

function post(
  over: Transport,
  url: string,
  request: Partial<AttemptRequest> = {},
  timeoutMs = 5_000,
): Promise<AttemptResult> {
  return over.send({ url, headers: {}, body, ...request }, { timeoutMs });
}

/** What has happened, in memory that threads share. */
const [ARRIVED, ANSWERED] = [0, 1];

/** An endpoint in a thread of its own, which does not answer before `ARRIVED` is 0 again. */
async function waitingThread(steps: Int32Array): Promise<{ readonly url: string }> {
  const script = `
    const { parentPort, workerData: steps } = require("node:worker_threads");
    const tell = (step) => {
      Atomics.store(steps, step, 1);
      Atomics.notify(steps, step);
    };
    const server = require("node:http").createServer((request, response) => {
      response.on("finish", () => tell(${ANSWERED}));
      request.resume().on("end", () => {
        tell(${ARRIVED});
        Atomics.wait(steps, ${ARRIVED}, 1);
        response.writeHead(204).end();
      });
    });
    server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
  `;
  const thread = new Worker(script, { eval: true, workerData: steps });
  onTestFinished(() => void thread.terminate());
  const [port] = (await once(thread, "message")) as [number];
  return { url: `http://127.0.0.1:${port}/` };
}

const text = (result: AttemptResult): string => Buffer.from(result.responseBody).toString();

describe("a request", () => {
  it("is a POST of exactly the given bytes and headers, to the URL's path and query", async () => {
    const endpoint = await httpEndpoint();
    const headers = {
      "Content-Type": "application/json",
      "User-Agent": "Countersign/1.0",
      "X-Static": "yes",
    };

    await post(transport(), `${endpoint.url}hooks/1?a=b%20c#fragment`, { headers });

    const [seen] = endpoint.requests;
    expect(seen).toMatchObject({ method: "POST", path: "/hooks/1?a=b%20c" });
    expect(seen?.body.equals(body)).toBe(true);
    expect(seen?.headers).toEqual({
      host: `127.0.0.1:${endpoint.port}`,
      connection: "keep-alive",
      "content-length": String(body.length),
      "content-type": "application/json",
      "user-agent": "Countersign/1.0",
      "x-static": "yes",
    });
  });

  it.skipIf(!hasIpv6)(`can have an empty body and go to an IPv6 address${noIpv6}`, async () => {
    const server = createServer((socket) => afterHead(socket, () => socket.end("HTTP/1.1 204 \r\n\r\n")));
    server.listen(0, "::1");
    await once(server, "listening");
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;

    expect(await post(transport(), `http://[::1]:${port}/`, { body: new Uint8Array() })).toMatchObject({
      status: 204,
    });
  });
});

describe("a response", () => {
  const table: readonly [number, AttemptOutcome][] = [
    [200, "success"],
    [201, "success"],
    [204, "success"],
    [299, "success"],
    [300, "rejected"],
    [301, "rejected"],
    [304, "rejected"],
    [307, "rejected"],
    [400, "rejected"],
    [401, "rejected"],
    [404, "rejected"],
    [408, "server_error"],
    [410, "rejected"],
    [413, "rejected"],
    [422, "rejected"],
    [425, "rejected"],
    [429, "server_error"],
    [499, "rejected"],
    [500, "server_error"],
    [502, "server_error"],
    [503, "server_error"],
    [599, "server_error"],
    [600, "rejected"],
    [999, "rejected"],
  ];

  it.each(table)("of status %i is outcome %s", async (status, outcome) => {
    const endpoint = await httpEndpoint((_, response) => response.writeHead(status).end());

    expect(await post(transport(), endpoint.url)).toMatchObject({ status, outcome });
  });

  it("gives its body, its Retry-After as it came, and the time to its headers", async () => {
    const endpoint = await httpEndpoint((_, response) => {
      response.writeHead(503, { "Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT" }).end("busy");
    });

    const startedAt = performance.now();
    const result = await post(transport(), endpoint.url);

    expect(result.retryAfter).toBe("Wed, 21 Oct 2026 07:28:00 GMT");
    expect(text(result)).toBe("busy");
    expect(result.durationMs).toBeGreaterThan(0);
    expect(result.durationMs).toBeLessThanOrEqual(performance.now() - startedAt);
  });

  it("that redirects is not followed", async () => {
    const elsewhere = await httpEndpoint();
    const endpoint = await httpEndpoint((_, response) => {
      response.writeHead(307, { location: elsewhere.url }).end();
    });

    expect(await post(transport(), endpoint.url)).toMatchObject({
      outcome: "rejected",
      status: 307,
      message: `answered 307 to ${elsewhere.url}; redirects are not followed`,
    });
    expect(elsewhere.connections()).toBe(0);
  });

  it("may be preceded by an informational one", async () => {
    const endpoint = await rawEndpoint((socket) => {
      afterHead(socket, () =>
        socket.end("HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 201 Created\r\n\r\n"),
      );
    });

    expect(await post(transport(), endpoint.url)).toMatchObject({ outcome: "success", status: 201 });
  });
});

describe("the time limit", () => {
  it("ends an attempt whose response does not come", async () => {
    const endpoint = await httpEndpoint(() => {});

    const startedAt = performance.now();
    const result = await post(transport(), endpoint.url, {}, 150);

    expect(result).toMatchObject({
      outcome: "timeout",
      code: "ERR_TIMEOUT",
      message: "no response within 150 ms",
    });
    expect(result.durationMs).toBeGreaterThanOrEqual(145);
    expect(result.durationMs).toBeLessThanOrEqual(performance.now() - startedAt);
    await vi.waitFor(() => expect(endpoint.open.size).toBe(0));
  });

  it("says that there was no connection if there was none, since a receiver is not slow that was never asked", async () => {
    const neverResolved = transport({ resolveHost: () => new Promise(() => {}) });

    expect(await post(neverResolved, "http://shop.example/", {}, 100)).toMatchObject({
      outcome: "timeout",
      code: "ETIMEDOUT",
      message: "no connection within 100 ms",
    });
    expect(noAnswer("ETIMEDOUT", "timeout").words).toBe("did not accept a connection in time");
  });

  it("takes an answer that came while this process was held up, since the endpoint has the message", async () => {
    const steps = new Int32Array(new SharedArrayBuffer(8));
    const { url } = await waitingThread(steps);
    const timeoutMs = 3_000;
    const from = performance.now();
    const result = post(transport(), url, {}, timeoutMs);
    while (Atomics.load(steps, ARRIVED) === 0) await nextTurn();
    Atomics.store(steps, ARRIVED, 0);
    Atomics.notify(steps, ARRIVED);
    Atomics.wait(steps, ANSWERED, 0);
    Atomics.wait(steps, ANSWERED, 1, from + timeoutMs + 10 - performance.now());

    expect(await result).toMatchObject({ outcome: "success", status: 204 });
  });

  it("counts the resolving of the name, and then sends nothing", async () => {
    const endpoint = await httpEndpoint();
    const resolver = new EventEmitter();
    const over = transport({
      resolveHost: async () => {
        await once(resolver, "answer");
        return [{ address: "127.0.0.1", family: 4 }];
      },
    });

    expect(await post(over, `http://endpoint.example:${endpoint.port}/`, {}, 50)).toMatchObject({
      outcome: "timeout",
    });
    resolver.emit("answer");

    await vi.waitFor(() => expect(endpoint.connections()).toBe(1));
    await over.close();
    await vi.waitFor(() => expect(endpoint.open.size).toBe(0));
    expect(endpoint.begun).toEqual([]);
  });

  it("may be longer than a timer can run", async () => {
    const endpoint = await httpEndpoint();

    expect(await post(transport(), endpoint.url, {}, 2 ** 40)).toMatchObject({ outcome: "success" });
  });

  it.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])(
    "for connecting is a TypeError when it is %d ms",
    (connectTimeoutMs) => {
      expect(() => createTransport({ connectTimeoutMs })).toThrow(TypeError);
    },
  );

  it("gives up a connection that cannot be made, by itself", async () => {
    const endpoint = await rawEndpoint(() => {});
    const over = transport({ connectTimeoutMs: 50 });

    const result = await post(over, endpoint.url.replace("http:", "https:"));

    expect(result).toMatchObject({ outcome: "timeout", message: "no connection within 50 ms" });
    await vi.waitFor(() => expect(endpoint.open.size).toBe(0));
  });
});

describe("a failure to connect", () => {
  it("at port 0 is none at port 80, which the URL does not name", async () => {
    const result = await post(transport(), "http://127.0.0.1:0/");

    expect(result.outcome).toBe("network");
    expect(result.message).not.toContain(":80");
  });

  it("is outcome network when refused", async () => {
    const url = `http://127.0.0.1:${await freePort()}/`;

    expect(await post(transport(), url)).toMatchObject({ outcome: "network", code: "ECONNREFUSED" });
  });

  it("is outcome network, with every address tried, when none of several answers", async () => {
    const over = transport({
      resolveHost: async () => [
        { address: "127.0.0.1", family: 4 },
        { address: "::1", family: 6 },
      ],
    });

    const result = await post(over, `http://endpoint.example:${await freePort()}/`);

    expect(result).toMatchObject({ outcome: "network", code: "ECONNREFUSED" });
    expect(result.message).toContain("127.0.0.1");
    expect(result.message).toContain("::1");
  });

  it("is outcome network when the name does not resolve", async () => {
    const result = await post(transport(), "http://no-such-host.invalid/");

    expect(result.outcome).toBe("network");
    expect(["ENOTFOUND", "EAI_AGAIN"]).toContain(result.code);
  });

  it("is outcome network when the name has no address, or its resolver throws", async () => {
    const none = transport({ resolveHost: async () => [] });
    const broken = transport({
      resolveHost: () => {
        throw new Error("no resolver");
      },
    });

    expect(await post(none, "http://endpoint.example/")).toMatchObject({
      outcome: "network",
      code: "ENOTFOUND",
    });
    expect(await post(broken, "http://endpoint.example/")).toMatchObject({
      outcome: "network",
      message: "no resolver",
    });
  });

  it("asks for one name once at a time, however many wait for it", async () => {
    const endpoint = await httpEndpoint();
    let questions = 0;
    const over = transport({
      resolveHost: async () => {
        questions += 1;
        return [{ address: "127.0.0.1", family: 4 }];
      },
    });

    const url = `http://endpoint.example:${endpoint.port}/`;
    const results = await Promise.all([post(over, url), post(over, url), post(over, url)]);

    expect(results.map((result) => result.outcome)).toEqual(["success", "success", "success"]);
    expect(questions).toBe(1);
  });
});

describe("a request that cannot be made", () => {
  it.each([
    ["no URL", { url: "nonsense" }],
    ["a header value with a newline", { headers: { "x-a": "b\r\nc: d" } }],
    ["a header name with a space", { headers: { "x a": "b" } }],
    ["a framing header", { headers: { "transfer-encoding": "chunked" } }],
  ])("is outcome rejected, not retried: %s", async (_, request: Partial<AttemptRequest>) => {
    const endpoint = await httpEndpoint();

    const result = await post(transport(), endpoint.url, request);

    expect(result.outcome).toBe("rejected");
    expect(result.code).toMatch(/^(ERR_INVALID_URL|UND_ERR_INVALID_ARG)$/u);
    expect(endpoint.begun).toEqual([]);
  });
});

describe("connections", () => {
  it("are kept for the next request to the same origin", async () => {
    const endpoint = await httpEndpoint();
    const over = transport();

    for (let sent = 0; sent < 20; sent++) {
      expect((await post(over, endpoint.url)).outcome).toBe("success");
    }

    // A connection is free again a turn of the event loop after its response, so that a second one may be opened.
    expect(endpoint.connections()).toBeLessThanOrEqual(2);
  });

  it("go where the name leads after a minute, however busy they are, since messages went to the old address for days", async () => {
    const endpoint = await httpEndpoint();
    let address = "127.0.0.1";
    const over = transport({ resolveHost: async () => [{ address, family: 4 }] });
    const url = `http://endpoint.example:${endpoint.port}/`;
    const postAfter = async (ms: number): Promise<AttemptResult> => {
      passTime(ms);
      // A connection is free again a turn of the event loop after its response.
      await nextTurn();
      return post(over, url);
    };

    await postAfter(0);
    address = "169.254.169.254";
    expect(await postAfter(59_000)).toMatchObject({ outcome: "success" });
    expect(await postAfter(2_000)).toMatchObject({ code: "ERR_ADDRESS_BLOCKED" });
    await vi.waitFor(() => expect(endpoint.open.size).toBe(0));
    address = "127.0.0.1";
    expect(await postAfter(0)).toMatchObject({ outcome: "success" });
    expect(endpoint.connections()).toBe(2);
  });

  it("are opened to an address that failed last of all, for a minute, since a dead one held each of them up for a second", async () => {
    const good = await httpEndpoint((_, response) => {
      response.writeHead(204, { connection: "close" }).end();
    });
    const resolveHost = async (): Promise<LookupAddress[]> =>
      ["127.0.0.2", "127.0.0.1"].map((address) => ({ address, family: 4 }));
    const over = transport({ resolveHost });
    const url = `http://endpoint.example:${good.port}/`;
    expect(await post(over, url)).toMatchObject({ outcome: "success" });

    // From now on it would answer.
    const first = createServer((socket) => socket.end());
    first.listen(good.port, "127.0.0.2");
    onTestFinished(() => void first.close());
    await once(first, "listening");
    expect(await post(over, url)).toMatchObject({ outcome: "success" });
    expect(good.requests).toHaveLength(2);

    passTime(60_001);
    expect(await post(over, url)).toMatchObject({ outcome: "network" });
    expect(good.requests).toHaveLength(2);
  });

  it("are kept for the 256 certificate authorities used last, and no more", async () => {
    const endpoint = await httpEndpoint();
    const over = transport();
    let others = 0;
    const useOthers = async (count: number): Promise<void> => {
      for (let n = 0; n < count; n++) {
        others += 1;
        await post(over, "https://127.0.0.1:9/", { ca: `another, ${others}` });
      }
      // A turn of the event loop, for a connection in use to be free again.
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    };
    const useFirst = (): Promise<AttemptResult> => post(over, endpoint.url, { ca: "the first" });

    await useFirst();
    await useOthers(200);
    await useFirst();
    await useOthers(255);
    await useFirst();
    expect(endpoint.connections()).toBe(1);
    await useOthers(256);

    await vi.waitFor(() => expect(endpoint.open.size).toBe(0));
    expect(await useFirst()).toMatchObject({ outcome: "success" });
    expect(endpoint.connections()).toBe(2);
  });

  it("closed by the endpoint in between are replaced without a failure", async () => {
    // It says that it keeps the connection, and closes it at once.
    const endpoint = await rawEndpoint((socket) => {
      afterHead(socket, () => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"));
    });
    const over = transport();

    for (let sent = 0; sent < 20; sent++) {
      expect(await post(over, endpoint.url)).toMatchObject({ outcome: "success", status: 200 });
    }

    expect(endpoint.connections()).toBe(20);
  });
});

describe("giving up", () => {
  it("by the signal ends the attempt and its connection", async () => {
    const endpoint = await httpEndpoint(() => {});
    const controller = new AbortController();
    const over = transport();

    const attempt = over.send(
      { url: endpoint.url, headers: {}, body },
      { timeoutMs: 5_000, signal: controller.signal },
    );
    await vi.waitFor(() => expect(endpoint.requests).toHaveLength(1));
    controller.abort();

    expect(await attempt).toMatchObject({ outcome: "network", code: "ERR_ABORTED" });
    await vi.waitFor(() => expect(endpoint.open.size).toBe(0));
  });

  it("before the start does not even connect", async () => {
    const endpoint = await httpEndpoint();
    const over = transport();
    const signal = AbortSignal.abort();

    const result = await over.send({ url: endpoint.url, headers: {}, body }, { timeoutMs: 5_000, signal });
    await post(over, endpoint.url);

    expect(result).toMatchObject({ outcome: "network", code: "ERR_ABORTED" });
    expect(endpoint.connections()).toBe(1);
  });

  it("has one listener for all attempts, so that the memory of one that ended is free, and none when all have ended", async () => {
    const endpoint = await httpEndpoint();
    const { signal } = new AbortController();
    const over = transport();

    const attempts = [1, 2, 3].map(() =>
      over.send({ url: endpoint.url, headers: {}, body }, { timeoutMs: 5_000, signal }),
    );
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    await Promise.all(attempts);
    expect(getEventListeners(signal, "abort")).toHaveLength(0);

    const another = over.send({ url: endpoint.url, headers: {}, body }, { timeoutMs: 5_000, signal });
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    await another;
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });
});

/** Names of what keeps a process open. */
function openHandles(): number {
  const kinds = /TCPSocketWrap|TLSWrap|Timeout|GetAddrInfo/u;
  return process.getActiveResourcesInfo().filter((name) => kinds.test(name)).length;
}

describe("close()", () => {
  it("ends attempts in progress and leaves no socket and no timer", async () => {
    const silent = await httpEndpoint(() => {});
    const shaking = await rawEndpoint(() => {});
    const idle = await httpEndpoint();
    const before = openHandles();
    const over = createTransport();
    await post(over, idle.url);
    const attempts = [
      post(over, silent.url),
      post(over, shaking.url.replace("http:", "https:")),
      post(over, silent.url, { fault: "slow_body" }),
    ];
    await vi.waitFor(() => expect(silent.open.size + shaking.open.size).toBe(3));

    await over.close();

    const outcomes = (await Promise.all(attempts)).map((result) => result.outcome);
    expect(outcomes).toEqual(["network", "network", "network"]);
    await vi.waitFor(() => expect(silent.open.size + shaking.open.size + idle.open.size).toBe(0));
    await vi.waitFor(() => expect(openHandles()).toBeLessThanOrEqual(before));
  });

  it("is idempotent, and later attempts are outcome network", async () => {
    const endpoint = await httpEndpoint();
    const over = createTransport();
    await Promise.all([over.close(), over.close()]);
    await over.close();

    expect(await post(over, endpoint.url)).toMatchObject({ outcome: "network", code: "ERR_CLOSED" });
    expect(await post(over, endpoint.url, { fault: "reset" })).toMatchObject({ code: "ERR_CLOSED" });
    expect(endpoint.connections()).toBe(0);
  });
});
