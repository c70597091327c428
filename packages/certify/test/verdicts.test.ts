import { createServer, type Socket } from "node:net";
import { certify, isAcceptedForgery, type AuditResult } from "@countersign/certify";
import { describe, expect, it } from "vitest";
import { handWrittenReceiver, type Mutation, type Seen } from "./support/hand-written-receiver.ts";
import { listen, SECRET } from "./support/listen.ts";

/** @param timeoutMs How long an answer is waited for, if the receiver leaves one out. */
async function audit(id: string, mutation: Mutation, timeoutMs?: number): Promise<AuditResult | undefined> {
  const receiver = await handWrittenReceiver(mutation);
  const report = await certify({ url: receiver.url, secret: SECRET, only: [id], timeoutMs });
  await receiver.close();
  return report.results[0];
}

function answering(status: number): Mutation {
  return { reply: () => ({ status }) };
}

describe("a refusal", () => {
  it.each([400, 401, 403, 404, 409, 413, 418, 422, 499])("may be %i", async (status) => {
    expect(await audit("rejects-missing-signature", answering(status))).toMatchObject({ outcome: "passed" });
  });

  it.each([
    [204, "Reject a request without X-Signature before any other code reads it."],
    [302, "Answer at this URL"],
    [408, "Reject a request without X-Signature"],
    [429, "The receiver limits its rate."],
    [500, 'To the sender a 5xx means "try again"'],
    [0, "Answer the requests that you reject, too"],
  ])("is not %i, and the fix is its own", async (status, fix) => {
    expect(await audit("rejects-missing-signature", answering(status), 2_000)).toMatchObject({
      outcome: "failed",
      failure: { fix: expect.stringContaining(fix) },
    });
  });
});

describe("an acceptance", () => {
  it.each([200, 201, 202, 204, 206])("may be %i", async (status) => {
    expect(await audit("accepts-page", answering(status))).toMatchObject({ outcome: "passed" });
  });

  it.each([
    [301, "the sender does not follow redirects"],
    [401, "It takes this message for a forgery"],
    [404, "Answer 2xx to each of the seven types"],
    [405, "Answer 2xx to each of the seven types"],
    [429, "The receiver limits its rate."],
    [503, "Answer 2xx to each of the seven types"],
  ])("is not %i, and the fix is its own", async (status, fix) => {
    expect(await audit("accepts-page", answering(status))).toMatchObject({
      outcome: "failed",
      failure: { fix: expect.stringContaining(fix) },
    });
  });
});

describe("a decision", () => {
  it.each([200, 400, 422])("may be %i", async (status) => {
    expect(await audit("survives-unexpected-shapes", answering(status))).toMatchObject({ outcome: "passed" });
  });

  it("is not 500", async () => {
    expect(await audit("survives-unexpected-shapes", answering(500))).toMatchObject({
      failure: { expected: "2xx or 4xx, never 5xx" },
    });
  });
});

describe("an accepted forgery", () => {
  it("is a request of a stranger that was answered 2xx, and no other failure", async () => {
    const receiver = await handWrittenReceiver({
      reply({ request, signature = "" }) {
        if (request.method === "GET") return { status: 200 };
        if (signature.length > 1_000) return { status: 500 };
        // Only who knows the secret can send it.
        if (signature.startsWith("sha1=") && !signature.startsWith("sha1=0123")) return { status: 204 };
        return signature === "" ? { status: 202 } : undefined;
      },
    });
    const only = [
      "accepts-track",
      "rejects-missing-signature",
      "rejects-malformed-signature",
      "rejects-prefixed-signature",
      "rejects-get",
      "answers-401-to-forgeries",
    ];
    const report = await certify({ url: receiver.url, secret: SECRET, only });
    await receiver.close();
    expect(report.results.map(({ outcome }) => outcome)).toEqual([
      "passed",
      "failed",
      "failed",
      "failed",
      "failed",
      "skipped",
    ]);
    expect(report.results.filter(isAcceptedForgery).map(({ id }) => id)).toEqual([
      "rejects-missing-signature",
    ]);
  });
});

describe("an answer that repeats the signature it was sent", () => {
  it("tells nothing new, in whichever form the right digest was sent", async () => {
    const receiver = await handWrittenReceiver({
      reply: ({ signature }, { status }) => ({ status, body: `not a signature: ${signature}` }),
    });
    const only = ["rejects-base64-signature", "rejects-prefixed-signature", "leaks-no-digest"];
    const report = await certify({ url: receiver.url, secret: SECRET, only });
    await receiver.close();
    expect(report.results).toMatchObject(only.map((id) => ({ id, outcome: "passed" })));
  });
});

describe("GET", () => {
  it.each([404, 405, 501])("may be refused with %i", async (status) => {
    expect(await audit("rejects-get", answering(status))).toMatchObject({ outcome: "passed" });
  });
});

describe("the largest message", () => {
  it("has the 64 KiB of a call and the context of its batch, and no byte more", async () => {
    const sizes: number[] = [];
    const measuring: Mutation = { reply: ({ bytes }) => void sizes.push(bytes.length) };
    expect(await audit("accepts-largest-message", measuring)).toMatchObject({ outcome: "passed" });
    expect(sizes).toEqual([65_536]);
  });
});

describe("a body that is too large", () => {
  it("may be refused by closing the connection", async () => {
    const closes: Mutation = {
      reply: (_, { status }) => (status === 413 ? { status: 0 } : undefined),
    };
    for (const id of ["rejects-declared-oversize", "rejects-chunked-oversize"]) {
      expect(await audit(id, closes)).toMatchObject({ outcome: "passed" });
    }
  });

  it.each(["rejects-declared-oversize", "rejects-chunked-oversize"])(
    "is not refused by a receiver that ends because of it: %s",
    async (id) => {
      const server = createServer((socket) => {
        let received = 0;
        socket.on("error", () => undefined);
        socket.on("data", ({ length }) => {
          received += length;
          if (received < 100_000) return;
          server.close();
          socket.destroy();
        });
      });
      const receiver = await listen(server);
      const report = await certify({ url: receiver.url, secret: SECRET, only: [id], timeoutMs: 4_000 });
      await receiver.close();
      expect(report.results[0]).toMatchObject({
        outcome: "failed",
        failure: {
          cause: "it stopped answering",
          received: expect.stringContaining("ECONNREFUSED"),
        },
      });
    },
  );

  it("is not refused by a receiver that neither answers nor closes", async () => {
    const receiver = await listen(createServer((socket) => void socket.on("error", () => undefined).pause()));
    const report = await certify({
      url: receiver.url,
      secret: SECRET,
      only: ["rejects-chunked-oversize"],
      timeoutMs: 500,
    });
    await receiver.close();
    expect(report.results[0]).toMatchObject({
      failure: {
        received: expect.stringMatching(/^no answer: none within 0\.5 s; it had taken \d+ KiB of the body/),
      },
    });
  });
});

describe("a connection that is kept", () => {
  const connections = new Set<Socket>();

  it("is not one that the receiver has closed where it leaves the second message without an answer", async () => {
    const used = new WeakSet<object>();
    const hangs: Mutation = {
      reply({ request }) {
        const isSecond = used.has(request.socket);
        used.add(request.socket);
        return isSecond ? new Promise(() => undefined) : undefined;
      },
    };
    expect(await audit("keeps-connections-in-step", hangs, 2_000)).toMatchObject({
      outcome: "failed",
      failure: { cause: "no answer: none within 2 s" },
    });
  });

  it("may be closed by the receiver before it is used again", async () => {
    const once: Mutation = {
      setUp: (server) => server.on("connection", (socket) => connections.add(socket)),
      reply({ request }) {
        // After the answer, without a word in its head, as when the idle time is over.
        setImmediate(() => request.socket.end());
        return undefined;
      },
    };
    expect(await audit("keeps-connections-in-step", once)).toMatchObject({ outcome: "passed" });
    expect(connections.size).toBeGreaterThanOrEqual(2);
  });

  it.for<[string, (seen: Seen) => boolean]>([
    ["without a signature", ({ signature }) => signature === undefined],
    ["of another media type", ({ request }) => request.headers["content-type"] === "text/plain"],
  ])("has nothing left in it of a message %s", async ([, isRejectedByItsHead]) => {
    const spoilt = new WeakSet<object>();
    const leavesTheBody: Mutation = {
      reply(seen) {
        if (spoilt.has(seen.request.socket)) return { status: 400 };
        if (isRejectedByItsHead(seen)) spoilt.add(seen.request.socket);
        return undefined;
      },
    };
    expect(await audit("keeps-connections-in-step", leavesTheBody)).toMatchObject({
      outcome: "failed",
      failure: { cause: "answered 400" },
    });
  });

  it("is used for both messages", async () => {
    const perConnection = new Map<unknown, number>();
    const counts: Mutation = {
      reply({ request }) {
        perConnection.set(request.socket, (perConnection.get(request.socket) ?? 0) + 1);
        return undefined;
      },
    };
    await audit("keeps-connections-in-step", counts);
    expect([...perConnection.values()]).toEqual([2, 2, 2]);
  });
});

describe("Expect: 100-continue", () => {
  it("is heeded: no body is sent before the receiver asks for it", async () => {
    const heads: string[] = [];
    const bodies: string[] = [];
    const server = createServer((socket) => {
      socket.once("data", (head) => {
        heads.push(String(head));
        socket.on("data", (body) => {
          bodies.push(String(body));
          socket.end("HTTP/1.1 204 No Content\r\n\r\n");
        });
        socket.write("HTTP/1.1 100 Continue\r\n\r\n");
      });
    });
    const receiver = await listen(server);
    const report = await certify({ url: receiver.url, secret: SECRET, only: ["accepts-expect-continue"] });
    await receiver.close();
    expect(report.passed).toBe(true);
    expect(heads).toEqual([expect.stringMatching(/\r\nExpect: 100-continue\r\n(?:.+\r\n)*\r\n$/)]);
    expect(bodies).toEqual([expect.stringMatching(/^\{.*\}$/)]);
  });

  it("is answered in the end by a receiver that ignores it", async () => {
    const server = createServer((socket) => {
      let received = "";
      socket.on("data", (data) => {
        received += String(data);
        if (received.endsWith("}")) socket.end("HTTP/1.1 204 No Content\r\n\r\n");
      });
    });
    const receiver = await listen(server);
    const report = await certify({ url: receiver.url, secret: SECRET, only: ["accepts-expect-continue"] });
    await receiver.close();
    expect(report.passed).toBe(true);
  });
});
