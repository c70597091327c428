import { EventEmitter, once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { faultyTransport, type Fault } from "@countersign/sender/faults";
import { createTestSender } from "@countersign/sender/testing";
import { virtualClock } from "@countersign/sender/testing";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import Koa from "koa";
import { Response as PackageResponse } from "undici";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { openTarget } from "../dist/target/open-target.js";
import type { Target } from "../dist/target/target.js";
import { createTransport } from "../dist/transport/create-transport.js";
import type { AttemptResult } from "../dist/transport/transport.js";
import { openSender } from "./support/open-sender.ts";

const body = Buffer.from('{"type":"track","event":"Größe ☃"}');

interface Seen {
  method: string | undefined;
  path: string | undefined;
  header: string | undefined;
  body: string;
}

/** Posts to a target, and gives what came back. */
async function post(
  target: Target,
  path = "hooks?a=b",
  fault?: Fault,
): Promise<AttemptResult & { text: string }> {
  const open = await openTarget(target);
  onTestFinished(() => open.close());
  const transport = faultyTransport(createTransport());
  onTestFinished(() => transport.close());
  if (fault !== undefined) transport.inject(fault);
  const headers = { "Content-Type": "application/json", "X-Signature": "abc" };
  const result = await transport.send({ url: open.url + path, headers, body }, { timeoutMs: 5_000 });
  return { ...result, text: Buffer.from(result.responseBody).toString() };
}

/** Every kind of target, doing the same: keep what came, answer 202 with a header and a body. */
const kinds: readonly { readonly name: string; readonly make: (keep: (seen: Seen) => void) => Target }[] = [
  {
    name: "a Node request listener",
    make: (keep) => async (request: IncomingMessage, response: ServerResponse) => {
      const { method, url: path, headers } = request;
      keep({ method, path, header: String(headers["x-signature"]), body: await text(request) });
      response.writeHead(202, { "Retry-After": "7" }).end("done");
    },
  },
  {
    name: "a server of node:http",
    make: (keep) =>
      createServer((request, response) => {
        const { method, url: path, headers } = request;
        text(request)
          .then((body) => {
            keep({ method, path, header: String(headers["x-signature"]), body });
            response.writeHead(202, { "Retry-After": "7" }).end("done");
          })
          .catch(() => response.destroy());
      }),
  },
  {
    name: "an Express app",
    make: (keep) => {
      const app = express();
      app.post("/hooks", express.text({ type: "*/*" }), (request, response) => {
        keep({
          method: request.method,
          path: request.url,
          header: request.get("x-signature"),
          body: String(request.body),
        });
        response.status(202).set("Retry-After", "7").send("done");
      });
      return app;
    },
  },
  {
    name: "a Koa app",
    make: (keep) => {
      const app = new Koa();
      app.silent = true;
      app.use(async (context) => {
        const { method, url: path } = context;
        keep({ method, path, header: context.get("x-signature"), body: await text(context.req) });
        context.status = 202;
        context.set("Retry-After", "7");
        context.body = "done";
      });
      return app;
    },
  },
  {
    name: "a Fastify instance",
    make: (keep) => {
      const app = fastify();
      app.addContentTypeParser("application/json", { parseAs: "string" }, (_request, payload, done) => {
        done(null, payload);
      });
      app.post("/hooks", async (request, reply) => {
        const { method, url: path, headers } = request;
        keep({ method, path, header: String(headers["x-signature"]), body: String(request.body) });
        return reply.code(202).header("Retry-After", "7").send("done");
      });
      return app;
    },
  },
  {
    name: "a Hono app",
    make: (keep) => {
      const app = new Hono();
      app.onError((_, context) => context.text("failed", 500));
      app.post("/hooks", async (context) => {
        const { method } = context.req;
        const { pathname, search } = new URL(context.req.url);
        keep({
          method,
          path: pathname + search,
          header: context.req.header("x-signature"),
          body: await context.req.text(),
        });
        return context.text("done", 202, { "Retry-After": "7" });
      });
      return app;
    },
  },
  {
    name: "a fetch handler",
    make: (keep) => ({
      fetch: async (request) => {
        const { pathname, search } = new URL(request.url);
        const header = request.headers.get("x-signature") ?? undefined;
        keep({ method: request.method, path: pathname + search, header, body: await request.text() });
        return new Response("done", { status: 202, headers: { "Retry-After": "7" } });
      },
    }),
  },
];

describe.each(kinds)("$name as a target", ({ make }) => {
  it("gets the request as it was sent, and its answer comes back", async () => {
    const seen: Seen[] = [];

    const result = await post(make((request) => seen.push(request)));

    expect(seen).toEqual([{ method: "POST", path: "/hooks?a=b", header: "abc", body: body.toString() }]);
    expect(result).toMatchObject({ outcome: "success", status: 202, retryAfter: "7", text: "done" });
  });

  it("survives a body that is cut off", async () => {
    const seen: Seen[] = [];
    const target = make((request) => seen.push(request));

    for (const fault of ["truncated", "reset"] as const) {
      expect(await post(target, "hooks", fault)).toMatchObject({ outcome: "network" });
    }
    expect(seen).toEqual([]);
    expect(await post(target, "hooks", "slow_body")).toMatchObject({ outcome: "success" });
    expect(seen).toHaveLength(1);
  });
});

describe("the path of a target", () => {
  it.each([
    "http://elsewhere.example/",
    "//elsewhere.example/hooks",
    "/\\elsewhere.example/hooks",
    "/\t/elsewhere.example/hooks",
    "\\\\elsewhere.example",
    "hooks",
    "",
    " /hooks",
    null,
    42,
  ])("%j is refused: it is not a path, or leads elsewhere", async (path) => {
    // @ts-expect-error -- some of them are of no kind that a path is
    const sender = createTestSender({ target: () => {}, path });

    await expect(sender).rejects.toThrow(
      new TypeError(
        `createTestSender({ path }) must be a path of the target that starts with one slash, such as "/hooks", not ${JSON.stringify(path)}.`,
      ),
    );
  });

  it("with a secret from a variable that is not set is refused: every message would be unsigned", async () => {
    await expect(createTestSender({ target: () => {}, secret: undefined })).rejects.toThrow(
      "sources[0].destinations[0].secret is undefined: set the variable that it comes from",
    );
  });

  it("may have a query, and what has to be escaped", async () => {
    const seen: (string | undefined)[] = [];
    const target: Target = (request, response) => {
      seen.push(request.url);
      response.end();
    };
    const sender = await openSender({ target, path: "/hooks/größe 1?a=b://c" });
    await sender.track({ userId: "u1", event: "Signed Up" });
    await sender.expect().delivered();

    expect(seen).toEqual(["/hooks/gr%C3%B6%C3%9Fe%201?a=b://c"]);
  });
});

describe("a target's port", () => {
  it("is on the loopback interface, and gone after close()", async () => {
    const open = await openTarget((_, response) => response.end());
    expect(open.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/u);
    expect((await fetch(open.url)).status).toBe(200);

    await Promise.all([open.close(), open.close()]);
    await open.close();

    await expect(fetch(open.url)).rejects.toThrow("fetch failed");
  });

  it("closes with a request still unanswered", async () => {
    const open = await openTarget(() => {});
    const request = fetch(open.url).catch((error: unknown) => error);
    await new Promise((resolve) => {
      setImmediate(resolve);
    });

    await open.close();

    expect(await request).toBeInstanceOf(TypeError);
  });
});

describe("a Fastify instance", () => {
  it("that is listening already keeps listening and is not closed", async () => {
    const app = fastify();
    let closed = false;
    app.addHook("onClose", async () => {
      closed = true;
    });
    app.post("/hooks", async () => "ok");
    const address = await app.listen({ port: 0, host: "127.0.0.1" });
    onTestFinished(() => app.close());
    const listeners = app.server.listenerCount("request");

    const open = await openTarget(app);
    expect((await fetch(`${open.url}hooks`, { method: "POST" })).status).toBe(200);
    await open.close();

    expect(closed).toBe(false);
    expect(app.server.listenerCount("request")).toBe(listeners);
    expect((await fetch(`${address}/hooks`, { method: "POST" })).status).toBe(200);
  });

  it("that is not ready yet is waited for, its plugins loaded", async () => {
    const app = fastify();
    app.register(async (scope) => {
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
      scope.post("/hooks", async () => "ok");
    });

    expect(await post(app, "hooks")).toMatchObject({ outcome: "success" });
  });

  it("that fails to get ready rejects with its own error", async () => {
    const app = fastify();
    app.register(async () => {
      throw new Error("no database");
    });

    await expect(openTarget(app)).rejects.toThrow("no database");
  });
});

describe("a target that goes wrong", () => {
  it.each<readonly [string, Target]>([
    [
      "throws",
      () => {
        throw new Error("boom");
      },
    ],
    ["rejects", async () => Promise.reject(new Error("boom"))],
    ["throws in fetch()", { fetch: () => Promise.reject(new Error("boom")) }],
  ])("because it %s answers 500 and says why", async (_, target) => {
    const result = await post(target);

    expect(result).toMatchObject({ outcome: "server_error", status: 500 });
    expect(result.text).toContain("The target failed: Error: boom.");
  });

  it("after its headers breaks the connection", async () => {
    const result = await post(async (_request, response) => {
      await new Promise((written) => {
        response.writeHead(200, { "Content-Length": "100" }).write("half", written);
      });
      throw new Error("boom");
    });

    expect(result).toMatchObject({ status: 200, text: "half" });
  });

  it("because its fetch() gives no Response answers 500 and says so", async () => {
    const target = { fetch: async () => undefined };

    // @ts-expect-error -- it is not a fetch handler
    const result = await post(target);

    expect(result.status).toBe(500);
    expect(result.text).toContain("fetch() returned no Response");
  });
});

async function fetchHandler(request: Request): Promise<Response> {
  return new Response(await request.text());
}

describe("a fetch handler given as a plain function", () => {
  it("is refused by the types, and answers 500 that starts with how to pass it", async () => {
    // @ts-expect-error -- a plain function is a Node request listener
    const result = await post(fetchHandler);

    expect(result.status).toBe(500);
    expect(result.text).toMatch(
      /^If the target is a fetch handler, pass it as \{ fetch: handler \}\. The target failed: TypeError: .*[^.]\.\n$/u,
    );
  });

  it("shows how to give it in a failed expectation, however long the reason is", async () => {
    const target = ({ method }: { readonly method?: string | undefined }): never => {
      throw new Error(`${"a long story, ".repeat(50)}the end of ${method}.`);
    };
    const clock = virtualClock();
    const sender = await openSender({ target, clock });
    const receipt = await sender.track({ userId: "u1", event: "Signed Up" });
    await clock.advance(0);

    await expect(sender.expect(receipt, { within: 0 }).delivered()).rejects.toThrow(
      "If the target is a fetch handler, pass it as { fetch: handler }. The target failed: Error: a long story",
    );
  });

  it("is not mentioned when it cannot be one", async () => {
    const result = await post((_request, response) => {
      throw new Error(`No database, and headers ${response.headersSent ? "sent" : "not sent"}.`);
    });

    expect(result.text).toBe("The target failed: Error: No database, and headers not sent.\n");
  });

  it("does not hang when it never looks at its request", async () => {
    const result = await post(() => new Response("ok"));

    expect(result.status).toBe(500);
    expect(result.text).toBe(
      "The target is a fetch handler: it returned a Response. Pass it as { fetch: handler }.\n",
    );
  });
});

describe("a fetch handler", () => {
  it("can set several cookies, stream its body, and answer without one", async () => {
    const target: Target = {
      fetch: (request) => {
        if (request.method === "GET") {
          return new Response(null, { status: 204 });
        }
        const stream = new ReadableStream<Uint8Array>({
          start(controller) {
            controller.enqueue(Buffer.from("one "));
            controller.enqueue(Buffer.from("two"));
            controller.close();
          },
        });
        const headers = new Headers();
        headers.append("Set-Cookie", "a=1");
        headers.append("Set-Cookie", "b=2");
        return new Response(stream, { headers });
      },
    };
    const open = await openTarget(target);
    onTestFinished(() => open.close());

    const posted = await fetch(open.url, { method: "POST", body: "x" });
    expect(posted.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
    expect(await posted.text()).toBe("one two");
    expect((await fetch(open.url)).status).toBe(204);
  });

  it("may answer by a Response of undici's package", async () => {
    const answer = new PackageResponse("done", { status: 202 }) as unknown as Response;
    expect(answer instanceof Response).toBe(false);
    const result = await post({ fetch: () => answer });
    expect(result).toMatchObject({ outcome: "success", status: 202, text: "done" });
  });

  // As Hono's server for Node does.
  it("may answer by what fetch() gave after an app replaced the global Response", async () => {
    const given = new Response("done", { status: 202 });
    vi.stubGlobal("Response", class extends Response {});
    onTestFinished(() => void vi.unstubAllGlobals());
    expect(given instanceof Response).toBe(false);
    const result = await post({ fetch: () => given });
    expect(result).toMatchObject({ outcome: "success", status: 202, text: "done" });
  });

  it("may leave a large body unread and still answer the next request", async () => {
    const open = await openTarget({ fetch: () => new Response("no", { status: 401 }) });
    onTestFinished(() => open.close());
    const transport = createTransport();
    onTestFinished(() => transport.close());
    const send = (bytes: number): Promise<AttemptResult> =>
      transport.send({ url: open.url, headers: {}, body: new Uint8Array(bytes) }, { timeoutMs: 5_000 });

    for (const bytes of [100, 3_000_000, 100, 3_000_000, 100]) {
      expect(await send(bytes)).toMatchObject({ outcome: "rejected", status: 401 });
    }
  });

  it("learns from the request's signal that the caller has gone", async () => {
    const events = new EventEmitter();
    const [called, aborted] = [once(events, "call"), once(events, "abort")];
    const open = await openTarget({
      fetch: (request) =>
        new Promise<Response>(() => {
          request.signal.addEventListener("abort", () => events.emit("abort"));
          events.emit("call");
        }),
    });
    onTestFinished(() => open.close());
    const transport = createTransport();
    onTestFinished(() => transport.close());

    const caller = new AbortController();
    const sending = transport.send(
      { url: open.url, headers: {}, body },
      { timeoutMs: 60_000, signal: caller.signal },
    );
    await called;
    caller.abort();

    expect(await sending).toMatchObject({ outcome: "network", code: "ERR_ABORTED" });
    await aborted;
  });
});

describe("what is not a target", () => {
  it.each([undefined, null, "http://127.0.0.1/", 42, {}, [], { fetch: true }, { ready: () => {} }])(
    "%j is a TypeError that lists the kinds",
    async (target) => {
      // @ts-expect-error -- none of these is a target
      await expect(openTarget(target)).rejects.toThrow(
        new TypeError(
          "target must be an Express app, a Koa app, a Fastify instance, an http.Server, a Node request listener, " +
            "or a fetch handler as { fetch: handler }",
        ),
      );
    },
  );
});

it("a server that nothing answers for is refused, before anything is sent", async () => {
  await expect(openTarget(createServer())).rejects.toThrow("a server without a request listener");
});

describe("several targets", () => {
  it("are the endpoints of one destination: each gets the message, and one that accepts it is enough", async () => {
    const seen: string[] = [];
    const app =
      (name: string, status: number) =>
      (_request: IncomingMessage, response: ServerResponse): void => {
        seen.push(name);
        response.writeHead(status).end();
      };
    const sender = await createTestSender({
      target: [app("a", 500), app("b", 204)],
      path: "/hooks",
      secret: "dev",
    });
    onTestFinished(() => sender.close());
    const receipt = await sender.track({ userId: "u1", event: "Fanned Out" });
    const [delivery] = await receipt.settled();
    expect(seen.toSorted()).toEqual(["a", "b"]);
    expect(delivery?.state).toBe("delivered");
    expect(delivery?.attempts.map(({ outcome }) => outcome).toSorted()).toEqual(["server_error", "success"]);
    expect(delivery?.attempts.every(({ endpoint }) => endpoint.endsWith("/hooks"))).toBe(true);
  });

  it("none, or more than a destination may have, is refused with what to change", async () => {
    const app = (_request: IncomingMessage, response: ServerResponse): void => void response.end();
    await expect(createTestSender({ target: [] })).rejects.toThrow("is an empty list");
    await expect(createTestSender({ target: Array.from({ length: 6 }, () => app) })).rejects.toThrow(
      /five|5/,
    );
  });
});

it("says which environment a test needs where jsdom has replaced the signals of Node", async () => {
  class OtherAbortController {
    readonly signal = {};
  }
  vi.stubGlobal("AbortController", OtherAbortController);
  onTestFinished(() => void vi.unstubAllGlobals());
  const created = createTestSender({ url: "http://127.0.0.1:9", secret: "secret" });
  await expect(created).rejects.toThrow(
    /createTestSender\(\) needs Node's AbortController.*@vitest-environment node/,
  );
});
