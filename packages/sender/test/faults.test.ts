import { createHmac } from "node:crypto";
import { verifySignature, verifyWebhook } from "@countersign/core";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { applyFault, copiesOf, holdBackMs, STALE_SECRET } from "../dist/faults/apply-fault.js";
import { faults, isFault, type Fault } from "../dist/faults/fault.js";
import { isWireFault } from "../dist/faults/wire-fault.js";
import { createTransport } from "../dist/transport/create-transport.js";
import type { AttemptRequest, AttemptResult } from "../dist/transport/transport.js";
import { createAuthority } from "./support/certificates.ts";
import { afterHead, httpEndpoint, rawEndpoint } from "./support/endpoints.ts";

const secret = "correct horse battery staple";
const text = '{"version":1,"type":"track","userId":"u1","event":"Größe ☃ geändert","properties":{}}';
const body = new TextEncoder().encode(text);

function signedRequest(url = "http://127.0.0.1/"): AttemptRequest {
  const signature = createHmac("sha1", secret).update(body).digest("hex");
  return { url, headers: { "Content-Type": "application/json", "X-Signature": signature }, body };
}

function post(url: string, fault: Fault, timeoutMs = 5_000, ca?: string): Promise<AttemptResult> {
  const transport = createTransport();
  onTestFinished(() => transport.close());
  return transport.send({ ...applyFault(signedRequest(url), fault, { secret }), ca }, { timeoutMs });
}

describe("a signature fault", () => {
  it("bad_signature is well-formed, and matches with no secret", () => {
    const struck = applyFault(signedRequest(), "bad_signature", { secret });

    expect(struck.headers["X-Signature"]).toMatch(/^[0-9a-f]{40}$/u);
    expect(verifySignature(struck.body, struck.headers["X-Signature"] ?? "", secret).ok).toBe(false);
    expect(struck.body).toBe(body);
  });

  it("bad_signature forges one where there was none", () => {
    const struck = applyFault({ url: "http://127.0.0.1/", headers: {}, body }, "bad_signature");

    expect(struck.headers["X-Signature"]).toMatch(/^[0-9a-f]{40}$/u);
  });

  it("missing_signature takes the header away, however it is written, and no other", () => {
    const request = signedRequest();
    const lowercase = {
      ...request,
      headers: { a: "b", "x-signature": request.headers["X-Signature"] ?? "" },
    };

    expect(applyFault(request, "missing_signature").headers).toEqual({ "Content-Type": "application/json" });
    expect(applyFault(lowercase, "missing_signature").headers).toEqual({ a: "b" });
    expect(Object.keys(request.headers)).toContain("X-Signature");
  });

  it("stale_secret signs the same bytes with a secret of before", () => {
    const byDefault = applyFault(signedRequest(), "stale_secret", { secret });
    const told = applyFault(signedRequest(), "stale_secret", { secret, staleSecret: "last year's" });

    expect(verifySignature(body, byDefault.headers["X-Signature"] ?? "", STALE_SECRET).ok).toBe(true);
    expect(verifySignature(body, told.headers["X-Signature"] ?? "", "last year's").ok).toBe(true);
    expect(verifySignature(body, told.headers["X-Signature"] ?? "", secret).ok).toBe(false);
  });

  it("oversize is the same message, correctly signed, in more than 1 MiB", () => {
    const struck = applyFault(signedRequest(), "oversize", { secret });
    const { message } = verifyWebhook({
      body: struck.body,
      signature: struck.headers["X-Signature"],
      secret,
    });

    expect(struck.body.length).toBeGreaterThan(1_048_576);
    expect(message).toEqual(JSON.parse(text));
  });

  it("oversize leaves a message unsigned where there is no secret, and a larger one as large as it is", () => {
    const large = new TextEncoder().encode(JSON.stringify("x".repeat(2_000_000)));
    const struck = applyFault({ url: "http://127.0.0.1/", headers: {}, body: large }, "oversize");

    expect(struck.headers).toEqual({});
    expect(Buffer.from(large).equals(struck.body)).toBe(true);
  });
});

describe("a fault of the order", () => {
  it("duplicate sends twice, everything else once", () => {
    expect(faults.filter((fault) => copiesOf(fault) === 2)).toEqual(["duplicate"]);
    expect(copiesOf(undefined)).toBe(1);
  });

  it("reorder holds back for half a second to a second, everything else not at all", () => {
    expect(holdBackMs("reorder", () => 0)).toBe(500);
    expect(holdBackMs("reorder", () => 0.999_999)).toBe(999);
    expect(faults.filter((fault) => holdBackMs(fault, () => 0.5) > 0)).toEqual(["reorder"]);
    expect(holdBackMs(undefined, () => 0.5)).toBe(0);
  });
});

describe("a fault on the wire", () => {
  it("slow_body arrives whole, in pieces", async () => {
    const pieces: number[] = [];
    const endpoint = await rawEndpoint((socket) => {
      let seen = "";
      socket.on("data", (chunk: Buffer) => {
        pieces.push(chunk.length);
        seen += chunk.toString("latin1");
        if (seen.endsWith(Buffer.from(text).toString("latin1"))) {
          socket.write("HTTP/1.1 204 No Content\r\n\r\n");
        }
      });
    });

    const result = await post(endpoint.url, "slow_body", 1_000);

    expect(result).toMatchObject({ outcome: "success", status: 204 });
    // Half of the time allowed is spent on twenty pieces.
    expect(pieces.length).toBeGreaterThan(5);
    expect(result.durationMs).toBeGreaterThan(250);
  });

  it("slow_body arrives whole at a receiver that waits for all of it, and the connection is closed after", async () => {
    const endpoint = await httpEndpoint();

    expect(await post(endpoint.url, "slow_body", 500)).toMatchObject({ outcome: "success" });
    expect(endpoint.requests.map((request) => request.body.toString())).toEqual([text]);
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
      expect(endpoint.begun).toHaveLength(1);
      expect(endpoint.requests).toEqual([]);
      await vi.waitFor(() => expect(endpoint.open.size).toBe(0));
    },
  );

  it("leaves the connections of other attempts alone", async () => {
    const endpoint = await httpEndpoint();
    const transport = createTransport();
    onTestFinished(() => transport.close());
    const request = signedRequest(endpoint.url);

    await transport.send(request, { timeoutMs: 5_000 });
    await transport.send({ ...request, fault: "reset" }, { timeoutMs: 5_000 });
    await transport.send(request, { timeoutMs: 5_000 });

    expect(endpoint.requests).toHaveLength(2);
    expect(endpoint.connections()).toBe(2);
  });
});

describe("the list of faults", () => {
  it("is what isFault knows", () => {
    expect(faults).toHaveLength(9);
    expect(new Set(faults).size).toBe(9);
    expect(faults.every(isFault)).toBe(true);
    expect([undefined, null, "", "BAD_SIGNATURE", "toString", 1].some(isFault)).toBe(false);
  });

  it("says which the transport makes", () => {
    expect(faults.filter(isWireFault)).toEqual(["slow_body", "truncated", "reset"]);
  });
});
