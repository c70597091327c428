import { createHmac } from "node:crypto";
import { sign, verifySignature, verifyWebhook } from "@countersign/core";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createTransport, type AttemptRequest, type AttemptResult } from "@countersign/sender";
import {
  FAULT_PATTERN,
  FAULTS,
  faultyTransport,
  isFault,
  STALE_SECRET,
  type Fault,
} from "@countersign/sender/faults";
import { applyFault } from "../dist/faults/apply-fault.js";
import { writeBodyOf } from "../dist/faults/wire-fault.js";
import { createAuthority } from "./support/certificates.ts";
import { afterHead, httpEndpoint, rawEndpoint } from "./support/endpoints.ts";

const SECRET = "correct horse battery staple";
const TEXT = '{"version":1,"type":"track","userId":"u1","event":"Größe ☃ geändert","properties":{}}';
const body = new TextEncoder().encode(TEXT);

const DELIVERY = {
  id: "01980000-0000-7000-8000-000000000001",
  messageId: "m1",
  type: "track",
  source: "shop",
  destination: "shop/webhooks",
  identity: "u1",
  acceptedAt: 0,
} as const;

function signedRequest(url = "http://127.0.0.1/"): AttemptRequest {
  const signature = createHmac("sha1", SECRET).update(body).digest("hex");
  const headers = { "Content-Type": "application/json", "X-Signature": signature };
  return { url, headers, body, delivery: DELIVERY, sign: (bytes) => sign(bytes, SECRET) };
}

function post(url: string, fault: Fault, timeoutMs = 5_000, ca?: string): Promise<AttemptResult> {
  const transport = faultyTransport(createTransport());
  onTestFinished(() => transport.close());
  transport.inject(fault);
  return transport.send({ ...signedRequest(url), ca }, { timeoutMs });
}

const OUTAGES: ReadonlySet<Fault> = new Set<Fault>(["status:503", "timeout", "refused"]);

describe("a signature fault", () => {
  it("bad_signature is well-formed, and matches with no secret", () => {
    const struck = applyFault(signedRequest(), "bad_signature");

    expect(struck.headers["X-Signature"]).toMatch(/^[0-9a-f]{40}$/u);
    expect(verifySignature(struck.body, struck.headers["X-Signature"] ?? "", SECRET).ok).toBe(false);
    expect(struck.body).toBe(body);
  });

  it("bad_signature forges one where there was none", () => {
    const struck = applyFault({ url: "http://127.0.0.1/", headers: {}, body }, "bad_signature");

    expect(struck.headers["X-Signature"]).toMatch(/^[0-9a-f]{40}$/u);
  });

  it("missing_signature removes the header in any case of letters, and no other", () => {
    const request = signedRequest();
    const lowercase = {
      ...request,
      headers: { a: "b", "x-signature": request.headers["X-Signature"] ?? "" },
    };

    expect(applyFault(request, "missing_signature").headers).toEqual({ "Content-Type": "application/json" });
    expect(applyFault(lowercase, "missing_signature").headers).toEqual({ a: "b" });
    expect(Object.keys(request.headers)).toContain("X-Signature");
  });

  it("stale_secret signs the same bytes with an older secret", () => {
    const struck = applyFault(signedRequest(), "stale_secret");

    expect(verifySignature(body, struck.headers["X-Signature"] ?? "", STALE_SECRET).ok).toBe(true);
    expect(verifySignature(body, struck.headers["X-Signature"] ?? "", SECRET).ok).toBe(false);
  });

  it("oversize is the same message, correctly signed, in more than 1 MiB", () => {
    const struck = applyFault(signedRequest(), "oversize");
    const { message } = verifyWebhook({
      body: struck.body,
      signature: struck.headers["X-Signature"],
      secret: SECRET,
    });

    expect(struck.body.length).toBeGreaterThan(1_048_576);
    expect(message).toEqual(JSON.parse(TEXT));
  });

  it("oversize does not sign without a secret, and does not change a message that is larger already", () => {
    const large = new TextEncoder().encode(JSON.stringify("x".repeat(2_000_000)));
    const struck = applyFault({ url: "http://127.0.0.1/", headers: {}, body: large }, "oversize");

    expect(struck.headers).toEqual({});
    expect(Buffer.from(large).equals(struck.body)).toBe(true);
  });
});

describe("a fault of the order", () => {
  /** A transport that counts what it sends. */
  function countingTransport(): { transport: ReturnType<typeof faultyTransport>; sent: AttemptRequest[] } {
    const sent: AttemptRequest[] = [];
    const transport = faultyTransport({
      send(request) {
        sent.push(request);
        return Promise.resolve({
          outcome: "success",
          status: 200,
          durationMs: 1,
          responseBody: new Uint8Array(),
        });
      },
      close: () => Promise.resolve(),
    });
    return { transport, sent };
  }

  it.each(FAULTS.filter((fault) => fault !== "reorder" && !OUTAGES.has(fault)))(
    "%s strikes one attempt: duplicate sends twice, the others once",
    async (fault) => {
      const { transport, sent } = countingTransport();
      transport.inject(fault);

      const struck = await transport.send(signedRequest(), { timeoutMs: 1_000 });
      const next = await transport.send(signedRequest(), { timeoutMs: 1_000 });

      expect(sent).toHaveLength(fault === "duplicate" ? 3 : 2);
      expect(struck.fault).toBe(fault);
      expect(struck.earlier?.map((one) => one.fault)).toEqual(
        fault === "duplicate" ? ["duplicate"] : undefined,
      );
      expect(next.fault).toBeUndefined();
      expect(sent.at(-1)?.fault).toBeUndefined();
    },
  );

  it("reorder holds a delivery back for half a second to a second, once, and the same for the same id", () => {
    const { transport } = countingTransport();
    const ids = Array.from({ length: 100 }, (_, index) => `delivery-${index}`);
    transport.inject("reorder", { times: 200 });

    const held = ids.map((id) => transport.holdBack({ ...DELIVERY, id }, ["http://127.0.0.1/"]));
    const again = ids.map((id) => transport.holdBack({ ...DELIVERY, id }, ["http://127.0.0.1/"]));

    expect(Math.min(...held)).toBeGreaterThanOrEqual(500);
    expect(Math.max(...held)).toBeLessThan(1_000);
    expect(new Set(held).size).toBeGreaterThan(50);
    expect(again).toEqual(held);
    expect(transport.holdBack(DELIVERY, ["http://127.0.0.1/"])).toBe(0);
  });

  it("every other fault holds nothing back", () => {
    const { transport } = countingTransport();
    for (const fault of FAULTS)
      if (fault !== "reorder") transport.inject(fault, { times: Number.POSITIVE_INFINITY });

    expect(transport.holdBack(DELIVERY, ["http://127.0.0.1/"])).toBe(0);
  });
});

describe("a fault on the wire", () => {
  it("slow_body arrives whole, in pieces", async () => {
    let pieces = 0;
    const endpoint = await rawEndpoint((socket) => {
      let seen = "";
      socket.on("data", (chunk: Buffer) => {
        pieces += 1;
        seen += chunk.toString("latin1");
        if (seen.endsWith(Buffer.from(TEXT).toString("latin1"))) {
          socket.write("HTTP/1.1 204 No Content\r\n\r\n");
        }
      });
    });

    // A process that other work holds up writes together what is due by then, so that there are few pieces for once.
    await vi.waitFor(async () => {
      pieces = 0;
      const result = await post(endpoint.url, "slow_body");
      expect(result).toMatchObject({ outcome: "success", status: 204 });
      // A second is spent on twenty pieces.
      expect(pieces).toBeGreaterThan(5);
      expect(result.durationMs).toBeGreaterThan(800);
    });
  });

  it("slow_body arrives in time from a process that is held up at each piece", async () => {
    const held = new Int32Array(new SharedArrayBuffer(4));
    const endpoint = await rawEndpoint((socket) => {
      let seen = Buffer.alloc(0);
      socket.on("data", (chunk: Buffer) => {
        seen = Buffer.concat([seen, chunk]);
        if (seen.toString().endsWith(TEXT)) socket.write("HTTP/1.1 204 No Content\r\n\r\n");
        // As other work of the machine does: the timers of this process wait, too. For twenty pieces, that is longer than the attempt may take.
        Atomics.wait(held, 0, 0, 300);
      });
    });

    expect(await post(endpoint.url, "slow_body")).toMatchObject({ outcome: "success", status: 204 });
  });

  it("slow_body arrives whole at a receiver that waits for all of it, and the connection is closed after", async () => {
    const endpoint = await httpEndpoint();

    expect(await post(endpoint.url, "slow_body")).toMatchObject({ outcome: "success" });
    expect(endpoint.requests.map((request) => request.body.toString())).toEqual([TEXT]);
    expect(endpoint.requests[0]?.headers["content-length"]).toBe(String(body.length));
    await vi.waitFor(() => expect(endpoint.open.size).toBe(0));
  });

  it("truncated declares more than it sends, then ends", async () => {
    let head = "";
    let received = 0;
    const endpoint = await rawEndpoint((socket) => {
      socket.on("data", (chunk: Buffer) => {
        head += chunk.toString("latin1");
        received += chunk.length;
      });
    });
    // Answers once the other side has finished.
    const answering = await rawEndpoint(
      (socket) => {
        socket.on("end", () => socket.end("HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n"));
      },
      { allowHalfOpen: true },
    );

    expect(await post(endpoint.url, "truncated")).toMatchObject({ outcome: "network" });
    expect(head).toContain(`content-length: ${body.length}\r\n`);
    expect(received - head.indexOf("\r\n\r\n") - 4).toBe(Math.floor(body.length / 2));
    // To refuse half a message is not to refuse the message.
    expect(await post(answering.url, "truncated")).toMatchObject({
      outcome: "network",
      code: "ECONNRESET",
      status: 400,
      message: "the connection was cut on purpose (fault: truncated); the endpoint answered 400",
    });
  });

  it("truncated shows a receiver that takes half a message for a whole one", async () => {
    const endpoint = await rawEndpoint((socket) => {
      afterHead(socket, () => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"));
    });

    expect(await post(endpoint.url, "truncated")).toMatchObject({ outcome: "success", status: 200 });
  });

  it("truncated is a timeout where the receiver goes on waiting", async () => {
    const endpoint = await rawEndpoint(() => {}, { allowHalfOpen: true });

    expect(await post(endpoint.url, "truncated", 200)).toMatchObject({ outcome: "timeout" });
  });

  it.each(["slow_body", "truncated", "reset"] as const)(
    "%s ends when the attempt is over before the body goes on, as when the time runs out meanwhile",
    async (fault) => {
      const over = new AbortController();
      const pieces = writeBodyOf(fault)(body, {
        socket: () => undefined,
        over: over.signal,
        timeoutMs: 60_000,
      });
      const written = pieces[Symbol.asyncIterator]();
      await written.next();
      over.abort();
      await expect(written.next()).rejects.toThrow(/cut on purpose|aborted/u);
    },
  );

  it("reset breaks the connection in the middle of the body", async () => {
    const errors: unknown[] = [];
    let received = "";
    const endpoint = await rawEndpoint((socket) => {
      socket.on("error", (error: NodeJS.ErrnoException) => errors.push(error.code));
      socket.on("data", (chunk: Buffer) => {
        received += chunk.toString("latin1");
      });
    });

    const result = await post(endpoint.url, "reset");

    expect(result).toMatchObject({ outcome: "network", code: "ECONNRESET" });
    expect(result.message).toContain("fault: reset");
    await vi.waitFor(() => expect(errors).toEqual(["ECONNRESET"]));
    expect(received.slice(received.indexOf("\r\n\r\n") + 4)).toHaveLength(Math.floor(body.length / 2));
  });

  it.each(["truncated", "reset"] as const)(
    "%s never gives a handler the whole message, over TLS too",
    async (fault) => {
      const authority = await createAuthority();
      const certificate = await authority.issue({ names: ["127.0.0.1"] });
      const endpoint = await httpEndpoint(undefined, certificate);

      expect(await post(endpoint.url, fault, 5_000, authority.pem)).toMatchObject({ outcome: "network" });
      await vi.waitFor(() => expect(endpoint.begun).toHaveLength(1));
      await vi.waitFor(() => expect(endpoint.open.size).toBe(0));
      expect(endpoint.requests).toEqual([]);
    },
  );

  it("does not touch the connections of other attempts", async () => {
    const endpoint = await httpEndpoint();
    const transport = faultyTransport(createTransport());
    onTestFinished(() => transport.close());
    const request = signedRequest(endpoint.url);

    await transport.send(request, { timeoutMs: 5_000 });
    transport.inject("reset");
    await transport.send(request, { timeoutMs: 5_000 });
    await transport.send(request, { timeoutMs: 5_000 });

    expect(endpoint.requests).toHaveLength(2);
    expect(endpoint.connections()).toBe(2);
  });
});

describe("an outage", () => {
  it.each<[Fault, Partial<AttemptResult>]>([
    ["status:503", { outcome: "server_error", status: 503 }],
    ["status:429", { outcome: "server_error", status: 429 }],
    ["status:410", { outcome: "rejected", status: 410 }],
    ["status:200", { outcome: "success", status: 200 }],
    ["timeout", { outcome: "timeout", code: "ERR_TIMEOUT", durationMs: 5_000 }],
    ["refused", { outcome: "network", code: "ECONNREFUSED" }],
  ])("%s ends the attempt as if it were so, and sends nothing", async (fault, result) => {
    const endpoint = await httpEndpoint();
    // A timer of the same process is as late as another, where other work holds the process up.
    let isOver = false;
    const timer = setTimeout(() => (isOver = true), 4_000);

    const struck = await post(endpoint.url, fault);

    clearTimeout(timer);
    expect(struck).toMatchObject({ ...result, fault });
    expect(struck.requestHeaders).toBeUndefined();
    expect(struck.message).toContain("nothing was sent");
    expect(endpoint.connections()).toBe(0);
    // The five seconds of a timeout are told, not waited for.
    expect(isOver).toBe(false);
  });
});

describe("the list of faults", () => {
  it("is what isFault knows, together with every final status", () => {
    expect(FAULTS).toHaveLength(12);
    expect(new Set(FAULTS).size).toBe(12);
    expect(FAULTS.every(isFault)).toBe(true);
    expect(["status:200", "status:404", "status:599"].every(isFault)).toBe(true);
    const wrong = [
      undefined,
      null,
      "",
      "BAD_SIGNATURE",
      "toString",
      1,
      "status:",
      "status:101",
      "status:600",
    ];
    expect([...wrong, "status:5030", "xtimeout", "timeout\n"].some(isFault)).toBe(false);
  });

  it("is what its pattern matches, so that a schema accepts the same", () => {
    const pattern = new RegExp(FAULT_PATTERN, "u");
    expect([...FAULTS, "status:404"].every((fault) => pattern.test(fault))).toBe(true);
    expect(["", "status:1000", "reset,reorder"].some((fault) => pattern.test(fault))).toBe(false);
  });
});
