import type { Socket } from "node:net";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createTransport } from "../dist/transport/create-transport.js";
import type { AttemptResult, Transport } from "../dist/transport/transport.js";
import { afterHead, httpEndpoint, rawEndpoint, type Endpoint } from "./support/endpoints.ts";

const body = new TextEncoder().encode("{}");
const KIB = 1_024;
const MIB = 1_024 * KIB;

function transport(): Transport {
  const created = createTransport();
  onTestFinished(() => created.close());
  return created;
}

function post(url: string, timeoutMs = 5_000, over: Transport = transport()): Promise<AttemptResult> {
  return over.send({ url, headers: {}, body }, { timeoutMs });
}

/** An endpoint that answers each request with the given text, and then goes on as it likes. */
function answering(
  text: string,
  then: (socket: Socket) => void = (socket) => socket.end(),
): Promise<Endpoint> {
  return rawEndpoint((socket) => {
    afterHead(socket, () => {
      socket.write(text, "latin1");
      then(socket);
    });
  });
}

/** Writes the same bytes for as long as the other side takes them, and tells how many. */
function pour(socket: Socket, chunk: string): { bytes: () => number } {
  const bytes = Buffer.from(chunk, "latin1");
  const fill = (): void => {
    while (!socket.destroyed && socket.write(bytes)) {
      // Until the kernel's buffer is full; "drain" goes on.
    }
  };
  socket.on("drain", fill);
  fill();
  return { bytes: () => socket.bytesWritten };
}

describe("an endpoint whose body never ends", () => {
  it("has answered with its headers; what arrived in time is kept", async () => {
    const endpoint = await answering("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf", () => {});

    const result = await post(endpoint.url);

    expect(result).toMatchObject({ outcome: "success", status: 200 });
    expect(Buffer.from(result.responseBody).toString()).toBe("half");
    expect(result.durationMs).toBeLessThan(4_900);
    await vi.waitFor(() => expect(endpoint.open.size).toBe(0));
  });

  it("is cut off after 16 KiB, at once, however much it would send", async () => {
    let poured = { bytes: () => 0 };
    const endpoint = await answering(
      `HTTP/1.1 200 OK\r\ncontent-length: ${1_024 * MIB}\r\n\r\n`,
      (socket) => {
        poured = pour(socket, "x".repeat(64 * KIB));
      },
    );

    const result = await post(endpoint.url);

    expect(result).toMatchObject({ outcome: "success", status: 200 });
    expect(result.responseBody).toHaveLength(16 * KIB);
    await vi.waitFor(() => expect(endpoint.open.size).toBe(0));
    // What was still on its way when the connection was dropped: buffers of the two kernels, not a gigabyte.
    expect(poured.bytes()).toBeLessThan(32 * MIB);
  });

  it("costs no more memory when a hundred of them do it at once", async () => {
    const endpoint = await answering("HTTP/1.1 500 No\r\ntransfer-encoding: chunked\r\n\r\n", (socket) => {
      pour(socket, `ffff\r\n${"x".repeat(0xffff)}\r\n`);
    });
    const over = transport();
    // A hundred at once take longer on a busy machine.
    await post(endpoint.url, 20_000, over);
    const before = process.memoryUsage().rss;

    const results = await Promise.all(Array.from({ length: 100 }, () => post(endpoint.url, 20_000, over)));

    expect(results.every((result) => result.outcome === "server_error")).toBe(true);
    expect(results.every((result) => result.responseBody.length === 16 * KIB)).toBe(true);
    expect(process.memoryUsage().rss - before).toBeLessThan(150 * MIB);
  });

  it("can keep exactly 16 KiB", async () => {
    const endpoint = await httpEndpoint((_, response) => response.end("y".repeat(16 * KIB)));

    const result = await post(endpoint.url);
    expect(result.responseBody).toHaveLength(16 * KIB);
    expect(result.cut).toBeUndefined();
  });

  it("is said to be cut from one byte more on", async () => {
    const endpoint = await httpEndpoint((_, response) => response.end("y".repeat(16 * KIB + 1)));

    const result = await post(endpoint.url);
    expect(result.responseBody).toHaveLength(16 * KIB);
    expect(result.cut).toBe(true);
  });
});

describe("an endpoint whose headers never end", () => {
  it.each([
    ["many headers", "x-more: and more\r\n"],
    ["one header", "more and more "],
  ])("is outcome network after 16 KiB: %s", async (_, chunk) => {
    let poured = { bytes: () => 0 };
    const endpoint = await answering("HTTP/1.1 200 OK\r\nx-first: ", (socket) => {
      poured = pour(socket, chunk.repeat(1_000));
    });

    const result = await post(endpoint.url);

    expect(result).toMatchObject({ outcome: "network", code: "UND_ERR_HEADERS_OVERFLOW" });
    await vi.waitFor(() => expect(endpoint.open.size).toBe(0));
    expect(poured.bytes()).toBeLessThan(32 * MIB);
  });

  it("is a timeout when they come byte by byte", async () => {
    const endpoint = await answering("HTTP/1.1 200 OK\r\nx-slow: ", (socket) => {
      const timer = setInterval(() => socket.write("."), 5);
      socket.once("close", () => clearInterval(timer));
    });

    expect(await post(endpoint.url, 150)).toMatchObject({ outcome: "timeout" });
    await vi.waitFor(() => expect(endpoint.open.size).toBe(0));
  });

  it("of the trailing kind has answered, and is dropped", async () => {
    let poured = { bytes: () => 0 };
    const head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n";
    const endpoint = await answering(head, (socket) => {
      poured = pour(socket, "x-trailer: more\r\n".repeat(1_000));
    });

    const result = await post(endpoint.url);

    expect(result).toMatchObject({ outcome: "success", status: 200 });
    await vi.waitFor(() => expect(endpoint.open.size).toBe(0));
    expect(poured.bytes()).toBeLessThan(32 * MIB);
  });
});

describe("an endpoint that does not speak HTTP", () => {
  it.each([
    ["a line of noise", "\0\x01\x02 what?\r\n\r\n"],
    ["another protocol", "SSH-2.0-OpenSSH_9.2p1\r\n"],
    ["an HTTP/0.9 page", "<html>hello</html>"],
    ["a status of letters", "HTTP/1.1 OK 200\r\n\r\n"],
    ["a status of four digits", "HTTP/1.1 2000 OK\r\n\r\n"],
    ["two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxx"],
    ["a negative length", "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n"],
    ["a header without a colon", "HTTP/1.1 200 OK\r\nnonsense\r\n\r\n"],
    ["nothing, then the end", ""],
  ])("is outcome network: %s", async (_, text) => {
    const endpoint = await answering(text);

    const result = await post(endpoint.url);

    expect(result.outcome).toBe("network");
    expect(result.code).toMatch(/^(ERR_HTTP_PARSER|UND_ERR_SOCKET|UND_ERR_RES_CONTENT_LENGTH_MISMATCH)$/u);
    expect(result.message).not.toBe("");
  });

  it("but goes on saying Continue is outcome network", async () => {
    const endpoint = await answering(
      "",
      (socket) => void pour(socket, "HTTP/1.1 100 Continue\r\n\r\n".repeat(1_000)),
    );

    expect(await post(endpoint.url)).toMatchObject({ outcome: "network" });
    await vi.waitFor(() => expect(endpoint.open.size).toBe(0));
  });

  it("but goes on with other informational responses is soon outcome network", async () => {
    const endpoint = await answering(
      "",
      (socket) => void pour(socket, "HTTP/1.1 102 Processing\r\n\r\n".repeat(1_000)),
    );

    const result = await post(endpoint.url);

    expect(result).toMatchObject({ outcome: "network", code: "ERR_INFORMATIONAL_FLOOD" });
    await vi.waitFor(() => expect(endpoint.open.size).toBe(0));
  });

  it("but says that it is working on it now and then may still answer", async () => {
    const endpoint = await answering(
      `${"HTTP/1.1 102 Processing\r\n\r\n".repeat(16)}HTTP/1.1 200 OK\r\n\r\n`,
    );

    expect(await post(endpoint.url)).toMatchObject({ outcome: "success", status: 200 });
  });

  it.each([
    ["101 Switching Protocols", "upgrade: x\r\nconnection: upgrade\r\n"],
    // undici breaks the connection, though RFC 9110 (15.2) wants it ignored: the code must not blame a crash.
    ["100 Continue", ""],
  ])("but sends %s, which was not asked for, is told that it did", async (status, headers) => {
    const endpoint = await answering(
      `HTTP/1.1 ${status}\r\n${headers}\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n`,
      () => {},
    );

    expect(await post(endpoint.url)).toMatchObject({
      outcome: "network",
      code: "ERR_UNEXPECTED_INFORMATIONAL",
      message: "the endpoint sent 100 or 101, which the request did not ask for",
    });
    await vi.waitFor(() => expect(endpoint.open.size).toBe(0));
  });
});

describe("an endpoint that breaks the connection", () => {
  it("before its response is outcome network", async () => {
    const endpoint = await answering("", (socket) => void socket.resetAndDestroy());

    expect(await post(endpoint.url)).toMatchObject({ outcome: "network", code: "ECONNRESET" });
  });

  it.each([
    ["by a reset", (socket: Socket): unknown => setImmediate(() => socket.resetAndDestroy())],
    ["by closing", (socket: Socket): unknown => socket.end()],
  ])("within its body, %s, has answered by its headers", async (_, cut) => {
    const endpoint = await answering("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf", (socket) => {
      socket.once("drain", () => cut(socket));
      setImmediate(cut, socket);
    });

    expect(await post(endpoint.url)).toMatchObject({ outcome: "success", status: 200 });
  });

  it("within its headers is outcome network", async () => {
    const endpoint = await answering("HTTP/1.1 200 OK\r\ncontent-le");

    expect(await post(endpoint.url)).toMatchObject({ outcome: "network" });
  });

  it("without reading the request is judged by what it answered", async () => {
    const endpoint = await rawEndpoint((socket) => {
      socket.end("HTTP/1.1 413 Too Large\r\nconnection: close\r\n\r\n");
    });
    const over = transport();
    const large = new Uint8Array(8 * MIB);

    const result = await over.send({ url: endpoint.url, headers: {}, body: large }, { timeoutMs: 5_000 });

    expect(["rejected", "network"]).toContain(result.outcome);
  });
});

describe("an endpoint that misleads", () => {
  it("by redirecting to itself is called once", async () => {
    const endpoint = await httpEndpoint((request, response) => {
      response.writeHead(308, { location: request.path }).end();
    });

    expect(await post(endpoint.url)).toMatchObject({ outcome: "rejected", status: 308 });
    expect(endpoint.requests).toHaveLength(1);
  });

  it("by a second response for one request does not answer the next one", async () => {
    let served = 0;
    const endpoint = await rawEndpoint((socket) => {
      afterHead(socket, () => {
        served += 1;
        const extra = served === 1 ? "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n" : "";
        socket.write(`HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n${extra}`);
      });
    });
    const over = transport();

    expect((await post(endpoint.url, 5_000, over)).outcome).toBe("server_error");
    expect((await post(endpoint.url, 5_000, over)).outcome).toBe("server_error");
    expect(served).toBe(2);
  });

  it("by a Retry-After of any kind: the value is passed on unchanged", async () => {
    const endpoint = await answering("HTTP/1.1 429 Slow\r\nretry-after: never\r\nretry-after: 1\r\n\r\n");

    const { outcome, retryAfter } = await post(endpoint.url);

    expect(outcome).toBe("server_error");
    expect(retryAfter).toBe("never");
  });
});
