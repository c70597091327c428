import { EventEmitter, once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { createServer, type CountersignServer, type ServerOptions } from "@countersign/server";
import { describe, expect, it, vi } from "vitest";
import { limitConnections } from "../../src/app/connections.ts";
import { send } from "../support/http.ts";
import { cleanUp, closing } from "../../../../tests/support/resources.ts";

const TO = "http://127.0.0.1:9/webhooks";

async function start(options: ServerOptions = {}): Promise<CountersignServer> {
  return closing(await createServer({ to: TO, port: 0, ...options }));
}

const GUARDED = ["/", "/api/sources", "/api/openapi.json", "/api/events", "/metrics"];

describe("everything but /v1", () => {
  it.each(["evil.example", "evil.example:4010", "localhost.evil.example", "127.0.0.1.evil.example", "[::1"])(
    "refuses the host %j, which DNS rebinding would send",
    async (host) => {
      const { url } = await start();
      for (const path of [...GUARDED, "/healthz", "/readyz"]) {
        expect((await send(url + path, { headers: { host } })).status).toBe(403);
      }
    },
  );

  it.each([
    "localhost",
    "LOCALHOST:4010",
    "app.localhost:4010",
    "127.0.0.1:4010",
    "[::1]:4010",
    "my.machine",
  ])("takes the host %j", async (host) => {
    const { url } = await start({ allowHosts: ["My.Machine"] });
    expect((await send(`${url}/api/sources`, { headers: { host } })).status).toBe(200);
  });

  it("answers the health checks of a load balancer that sends no Host in HTTP/1.0, and nothing else", async () => {
    const { url } = await start();
    const { port, hostname } = new URL(url);
    const statusOf = async (line: string): Promise<string | undefined> => {
      const socket = connect(Number(port), hostname);
      cleanUp(() => socket.destroy());
      let answer = "";
      socket.on("data", (data) => (answer += String(data)));
      socket.write(`${line} HTTP/1.0\r\n\r\n`);
      await once(socket, "close");
      return /^HTTP\/1\.1 (\d+)/.exec(answer)?.[1];
    };
    for (const path of ["/healthz", "/readyz", "/readyz?from=balancer"])
      expect([await statusOf(`GET ${path}`), await statusOf(`HEAD ${path}`)]).toEqual(["200", "200"]);
    for (const path of GUARDED) expect([path, await statusOf(`GET ${path}`)]).toEqual([path, "403"]);
  });

  it("refuses other origins, and what a browser says comes from another site", async () => {
    const { url } = await start();
    const { host } = new URL(url);
    const statusOf = async (headers: Record<string, string>, path = "/api/sources"): Promise<number> =>
      (await send(url + path, { headers })).status;
    expect(await statusOf({ origin: "https://evil.example" })).toBe(403);
    expect(await statusOf({ origin: "null" })).toBe(403);
    expect(await statusOf({ origin: `http://localhost:1` })).toBe(403);
    expect(await statusOf({ origin: `http://${host}` })).toBe(200);
    expect(await statusOf({ "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" })).toBe(403);
    expect(await statusOf({ "sec-fetch-site": "same-site", "sec-fetch-mode": "cors" })).toBe(403);
    expect(await statusOf({ "sec-fetch-site": "same-origin", "sec-fetch-mode": "cors" })).toBe(200);
    expect(await statusOf({ "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" }, "/")).toBe(200);
    // A form of another site navigates, too.
    const form = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" };
    expect((await send(`${url}/api/clock`, { method: "POST", headers: form, body: {} })).status).toBe(403);
  });

  it("says that a proxy changed the Host header, when its own page may change nothing because of that", async () => {
    const { url } = await start();
    const detailOf = async (headers: Record<string, string>): Promise<unknown> => {
      const answer = await send(`${url}/api/messages?check`, { method: "POST", headers, body: {} });
      return [answer.status, answer.json()];
    };
    const origin = "https://hooks.example:8443";
    const behind = await detailOf({ origin, "sec-fetch-site": "same-origin", "sec-fetch-mode": "cors" });
    expect(behind).toMatchObject([403, { detail: expect.stringContaining("Let the proxy") }]);
    const other = await detailOf({ origin, "sec-fetch-site": "cross-site", "sec-fetch-mode": "cors" });
    expect(other).toMatchObject([403, { detail: "Web pages of other origins may not use this API." }]);
  });

  it("leaves /v1 open to any host and origin", async () => {
    const { url } = await start();
    const headers = { host: "events.example", origin: "https://shop.example" };
    const body = { writeKey: "any", userId: "u", event: "e" };
    expect((await send(`${url}/v1/track`, { method: "POST", headers, body })).status).toBe(200);
  });
});

it.each(["http://0.0.0.0", "http://127.0.0.1:4010/", "0.0.0.0:4010", "[::]", "127.0.0.1/api", " "])(
  "%j is refused as a host, without asking for a token",
  async (host) => {
    await expect(createServer({ to: TO, port: 0, host })).rejects.toThrow("Give an address or a name");
  },
);

describe("the token", () => {
  it("is needed to listen on a network", async () => {
    await expect(createServer({ to: TO, port: 0, host: "0.0.0.0" })).rejects.toThrow(
      "Listening on 0.0.0.0 gives others on the network access, so it needs a token. Pass one with --token, or listen on 127.0.0.1.",
    );
    await expect(createServer({ to: TO, port: 0, token: "" })).rejects.toThrow("The token is empty");
    for (const token of ["long-random\n", " long-random", "long\u0000random"])
      await expect(createServer({ to: TO, port: 0, token })).rejects.toThrow("No request can carry that");
  });

  it("is asked of everything but /v1 and the health checks", async () => {
    const { url } = await start({ host: "0.0.0.0", token: "s3cret" });
    for (const path of GUARDED) {
      const answer = await send(url + path);
      expect([answer.status, answer.headers["www-authenticate"]]).toEqual([401, "Bearer"]);
      expect((await send(url + path, { headers: { authorization: "Bearer wrong" } })).status).toBe(401);
      expect((await send(url + path, { headers: { cookie: "countersign_4010=%" } })).status).toBe(401);
    }
    expect((await send(`${url}/api/sources`, { headers: { authorization: "Bearer s3cret" } })).status).toBe(
      200,
    );
    expect((await send(`${url}/healthz`)).status).toBe(200);
    expect((await send(`${url}/readyz`)).status).toBe(200);
    const body = { writeKey: "any", userId: "u", event: "e" };
    expect((await send(`${url}/v1/track`, { method: "POST", body })).status).toBe(200);
  });

  it.each(["s3cret", "three small words", "bearer x"])(
    "is taken as Bearer %s, and by control()",
    async (token) => {
      const server = await start({ token });
      const statusOf = async (authorization: string): Promise<number> =>
        (await send(`${server.url}/api/sources`, { headers: { authorization } })).status;
      expect(await statusOf(`Bearer ${token}`)).toBe(200);
      expect(await statusOf(`Bearer ${token} more`)).toBe(401);
      expect((await server.control("GET", "/sources")).status).toBe(200);
    },
  );

  it("is kept by a browser that opened /?token=", async () => {
    const { url } = await start({ token: "s3 cret;" });
    expect((await send(`${url}/?token=wrong`)).status).toBe(401);
    // Only there: an address with the token in it is for opening the page, not for the API.
    expect((await send(`${url}/api/sources?token=s3%20cret%3B`)).status).toBe(401);
    const answer = await send(`${url}/?token=s3%20cret%3B`);
    expect([answer.status, answer.headers.location]).toEqual([303, "/"]);
    const [cookie = ""] = answer.headers["set-cookie"] ?? [];
    expect(cookie).toMatch(/; HttpOnly; SameSite=Strict; Path=\/$/);
    const kept = { cookie: `other=1; ${cookie.split(";")[0]}` };
    expect((await send(`${url}/api/sources`, { headers: kept })).status).toBe(200);
  });

  it("shows what nobody may keep: a proxy may store what a browser with the cookie was answered", async () => {
    const { url } = await start({ token: "s3cret" });
    const [cookie = ""] = (await send(`${url}/?token=s3cret`)).headers["set-cookie"] ?? [];
    for (const path of ["/api/deliveries", "/api/rejections", "/api/events", "/metrics", "/readyz"]) {
      for (const headers of [{}, { cookie: cookie.split(";")[0] ?? "" }]) {
        const answer = await fetch(url + path, { headers });
        expect(answer.headers.get("cache-control")).toMatch(/^no-store\b/);
        await answer.body?.cancel();
      }
    }
  });

  it("is kept in a cookie that is not sent without TLS, if a proxy in front of the server speaks it", async () => {
    const { url } = await start({ token: "s3cret" });
    const answer = await send(`${url}/?token=s3cret`, { headers: { "x-forwarded-proto": "https" } });
    expect(answer.headers["set-cookie"]).toEqual([expect.stringMatching(/; Secure$/)]);
  });

  it("is not in the cookie, which a browser sends to every port of the host, and each port has a cookie of its own", async () => {
    const servers = [await start({ token: "s3cret" }), await start({ token: "s3cret" })];
    const cookies: string[] = [];
    for (const { url } of servers) {
      const [cookie = ""] = (await send(`${url}/?token=s3cret`)).headers["set-cookie"] ?? [];
      expect(cookie).not.toContain("s3cret");
      cookies.push(cookie.split(";")[0] ?? "");
    }
    const [first, second] = cookies.map((cookie) => cookie.split("=")) as [string[], string[]];
    expect(first[0]).not.toBe(second[0]);
    const url = `${servers[0]?.url}/api/sources`;
    const taken = { cookie: `${first[0]}=${second[1]}` };
    expect((await send(url, { headers: taken })).status).toBe(401);
    expect((await send(url, { headers: { cookie: `${first[0]}=s3cret` } })).status).toBe(401);
    expect((await send(url, { headers: { cookie: cookies.join("; ") } })).status).toBe(200);
  });

  it("is needed to learn from /readyz more than the status: names of destinations and of files", async () => {
    const { url } = await start({ token: "s3cret" });
    expect((await send(`${url}/readyz`)).json()).toEqual({ status: "ok" });
    const headers = { authorization: "Bearer s3cret" };
    expect((await send(`${url}/readyz`, { headers })).json()).toEqual({
      status: "ok",
      store: { state: "up" },
      delivers: true,
    });
  });
});

describe("connections", () => {
  it.each([
    ["headers", (n: number) => `POST /v1/track HTTP/1.1\r\nHost: x\r\nX-${n}: ${"x".repeat(2_000)}\r\n`],
    ["bodies", () => "POST /v1/track HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{"],
  ])("that dribble %s make room for those that send them", async (_what, beginning) => {
    const { url } = await start({ maxConnections: 50 });
    const { port } = new URL(url);
    const slow: Socket[] = [];
    cleanUp(() => slow.forEach((socket) => socket.destroy()));
    let closed = 0;
    for (let n = 0; n < 300; n += 1) {
      const socket = connect(Number(port), "127.0.0.1");
      socket.on("error", () => {});
      socket.once("close", () => (closed += 1));
      await once(socket, "connect");
      socket.write(beginning(n));
      slow.push(socket);
    }
    const good = await Promise.all(Array.from({ length: 40 }, () => send(`${url}/healthz`)));
    expect(good.map(({ status }) => status)).toEqual(good.map(() => 200));
    await vi.waitFor(() => expect(closed).toBeGreaterThanOrEqual(250));
  });

  it.each([
    ["one at a time", 1],
    ["several at once", 3],
  ])("whose clients read no response, %s, make room for others", async (_, requests) => {
    const beyondEveryBuffer = Buffer.alloc(64 * 1_024 * 1_024);
    const server = createHttpServer(({ url }, response) => {
      setImmediate(() => response.end(url === "/" ? beyondEveryBuffer : "ok"));
    });
    limitConnections(server, 5);
    await once(server.listen(0, "127.0.0.1"), "listening");
    cleanUp(() => (server.close(), server.closeAllConnections()));
    const { port } = server.address() as AddressInfo;
    for (let n = 0; n < 5; n += 1) {
      const socket = connect(port, "127.0.0.1").pause();
      cleanUp(() => socket.destroy());
      socket.on("error", () => {});
      for (let request = 0; request < requests; request += 1) {
        socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        await once(server, "request");
      }
    }
    const good = await Promise.all(Array.from({ length: 4 }, () => send(`http://127.0.0.1:${port}/good`)));
    expect(good.map(({ text }) => text)).toEqual(["ok", "ok", "ok", "ok"]);
  });

  it("that send requests ahead by the thousand are closed, and those that send a hundred are answered", async () => {
    const answers = new EventEmitter().setMaxListeners(0);
    const server = createHttpServer((_request, response) => void answers.once("now", () => response.end()));
    limitConnections(server, 5);
    await once(server.listen(0, "127.0.0.1"), "listening");
    cleanUp(() => (server.close(), server.closeAllConnections()));
    const { port } = server.address() as AddressInfo;
    const REQUEST = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    const pipeline = (requests: number): Socket => {
      const socket = connect(port, "127.0.0.1");
      cleanUp(() => socket.destroy());
      socket.on("error", () => {});
      socket.write(REQUEST.repeat(requests));
      return socket;
    };
    await new Promise((resolve) => pipeline(5_000).once("close", resolve));
    let text = "";
    const socket = pipeline(101).on("data", (data: Buffer) => (text += data.toString()));
    const answered = (count: number): Promise<void> =>
      vi.waitFor(() => {
        answers.emit("now");
        expect(text.split("HTTP/1.1 200 OK")).toHaveLength(count + 1);
      });
    await answered(101);
    // What was answered does not count any more.
    socket.write(REQUEST.repeat(101));
    await answered(202);
  });

  it("keep those that are being answered", async () => {
    const { url } = await start({ maxConnections: 5 });
    const events = await fetch(`${url}/api/events`);
    const idle = Array.from({ length: 20 }, () => connect(Number(new URL(url).port), "127.0.0.1"));
    cleanUp(() => idle.forEach((socket) => socket.destroy()));
    for (const socket of idle) socket.on("error", () => {});
    await Promise.all(idle.slice(0, 15).map((socket) => once(socket, "close")));
    const reader = events.body?.getReader();
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toContain("retry: 1000");
    await send(`${url}/v1/track`, { method: "POST", body: { writeKey: "any", userId: "u" } });
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toContain("missing_event");
  });

  it.each([
    [
      "too many headers",
      `GET /v1/track HTTP/1.1\r\nHost: x\r\nX: ${"x".repeat(20_000)}\r\n\r\n`,
      431,
      "headers_too_large",
    ],
    ["what is not HTTP", "HELLO\r\n\r\n", 400, "malformed_request"],
    [
      "a path that is none",
      "POST /v1/%zz HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
      400,
      "malformed_url",
    ],
  ])("with %s get an answer that has a code", async (_what, request, status, code) => {
    const { url } = await start();
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    cleanUp(() => socket.destroy());
    let answer = "";
    socket.on("data", (data: Buffer) => (answer += data.toString()));
    socket.write(request);
    await vi.waitFor(() => expect(answer).toContain(`"code":"${code}"`));
    expect(answer).toContain(`HTTP/1.1 ${status} `);
  });
});

describe("the page", () => {
  it("is the same file whatever was delivered, and its policy lets only its own files run", async () => {
    const { url } = await start();
    const before = await send(`${url}/`);
    const evil = `<script>alert("1")</script>'`;
    const track = { writeKey: "any", userId: evil, event: evil, messageId: evil };
    await send(`${url}/v1/track`, { method: "POST", body: track });
    const page = await send(`${url}/`);
    expect(page.status).toBe(200);
    expect(page.text).toBe(before.text);
    expect(page.headers["content-type"]).toBe("text/html; charset=utf-8");
    const policy = String(page.headers["content-security-policy"]).split("; ");
    for (const directive of [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "connect-src 'self'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
    ]) {
      expect(policy).toContain(directive);
    }
  });

  it("comes with 401 where a token is asked for, so that it can ask for it, and its files come without", async () => {
    const { url } = await start({ token: "s3cret" });
    const page = await send(`${url}/`);
    expect([page.status, page.headers["content-type"]]).toEqual([401, "text/html; charset=utf-8"]);
    const files = page.text.match(/(?:src|href)="\/[^"]+"/g) ?? [];
    for (const file of files) {
      const path = file.slice(file.indexOf('"') + 1, -1);
      expect((await send(url + path)).status).toBe(200);
    }
    const withToken = await send(`${url}/`, { headers: { authorization: "Bearer s3cret" } });
    expect(withToken.status).toBe(200);
  });
});

describe("health and metrics", () => {
  it("answer", async () => {
    const { url } = await start();
    await send(`${url}/v1/track`, { method: "POST", body: { writeKey: "any", userId: "u" } });
    await send(`${url}/v1/track`, {
      method: "POST",
      body: { writeKey: "any", userId: "u", event: "e", messageId: "m" },
    });
    await send(`${url}/v1/track`, {
      method: "POST",
      body: { writeKey: "any", userId: "u", event: "e", messageId: "m" },
    });
    await fetch(`${url}/v1/track`, { method: "POST", body: "{" });
    const { text, headers } = await send(`${url}/metrics`);
    expect(headers["content-type"]).toContain("text/plain; version=0.0.4");
    for (const line of [
      'countersign_calls_accepted_total{source="default"} 1',
      'countersign_calls_duplicate_total{source="default"} 1',
      'countersign_calls_rejected_total{reason="missing_event"} 1',
      'countersign_requests_refused_total{code="invalid_json"} 1',
      'countersign_deliveries_pending{destination="default/webhooks"} 1',
      'countersign_deliveries_kept{destination="default/webhooks",state="failed"} 0',
    ]) {
      expect(text).toContain(line);
    }
    expect((await send(`${url}/readyz`)).json()).toMatchObject({ status: "ok" });
  });
});
