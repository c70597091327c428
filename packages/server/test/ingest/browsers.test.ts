import { createServer, type CountersignServer } from "@countersign/server";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { send } from "../support/http.ts";
import { SECRET, startReceiver, type Receiver } from "../support/receiver.ts";

let server: CountersignServer;
let receiver: Receiver;

beforeAll(async () => {
  receiver = await startReceiver();
  server = await createServer({
    to: receiver.url,
    secret: SECRET,
    writeKey: "WK",
    port: 0,
    token: "a token",
  });
});

afterAll(async () => {
  await server.close();
  await receiver.close();
});

beforeEach(() => receiver.webhooks.splice(0));

const ORIGIN = "https://shop.example";

function preflight(path: string, headers: string): ReturnType<typeof send> {
  return send(`${server.url}${path}`, {
    method: "OPTIONS",
    headers: {
      origin: ORIGIN,
      "access-control-request-method": "POST",
      "access-control-request-headers": headers,
    },
  });
}

describe("cross-origin requests", () => {
  it.each(["x-retry-count,content-type", "anonymousid, sentat,authorization", "X-Anything.At~All"])(
    "a preflight allows %j, so that no client library loses its retries",
    async (wanted) => {
      const { status, headers } = await preflight("/v1/t", wanted);
      expect(status).toBe(204);
      expect(headers["access-control-allow-headers"]).toBe(wanted);
      expect(headers["access-control-allow-methods"]).toContain("POST");
      expect(headers["access-control-allow-origin"]).toBe(ORIGIN);
    },
  );

  it.each(["a b", "<script>", 'x"y', "é", "a,,b", ","])(
    "a preflight does not repeat %j, which is no list of header names",
    async (wanted) => {
      const { status, headers } = await preflight("/v1/t", Buffer.from(wanted).toString("latin1"));
      expect(status).toBe(204);
      expect(headers).not.toHaveProperty("access-control-allow-headers");
    },
  );

  it("a page may read how long to wait, and send with credentials", async () => {
    const limited = await send(`${server.url}/v1/t`, {
      method: "POST",
      headers: { origin: ORIGIN },
      body: {},
    });
    expect(limited.headers["access-control-expose-headers"]).toContain("Retry-After");
    expect(limited.headers["access-control-allow-origin"]).toBe(ORIGIN);
    expect(limited.headers["access-control-allow-credentials"]).toBe("true");
    expect(limited.headers["vary"]).toBe("Origin");
    const without = await send(`${server.url}/v1/t`, { method: "POST", body: {} });
    expect(without.headers["access-control-allow-origin"]).toBe("*");
    expect(without.headers).not.toHaveProperty("access-control-allow-credentials");
  });

  it.each(["/api/deliveries", "/", "/metrics", "/healthz", "/v2/t", "/v1x"])(
    "no header or origin is reflected at %s, which is not for pages of others",
    async (path) => {
      const answer = await preflight(path, "x-retry-count");
      expect(answer.status).toBeGreaterThanOrEqual(400);
      const names = Object.keys(answer.headers).filter((name) => name.startsWith("access-control-"));
      expect(names).toEqual([]);
    },
  );
});

describe("what browser libraries load first", () => {
  it("gives @segment/analytics-next the settings that send its calls here", async () => {
    const { host } = new URL(server.url);
    const answer = await send(`${server.url}/v1/projects/WK/settings`, { headers: { origin: ORIGIN } });
    expect(answer.status).toBe(200);
    expect(answer.headers["access-control-allow-origin"]).toBe(ORIGIN);
    expect(answer.json()).toMatchObject({
      integrations: { "Segment.io": { apiKey: "WK", apiHost: `${host}/v1`, protocol: "http" } },
      // Figures about the library itself go nowhere.
      metrics: { sampleRate: 0, host: `${host}/v1` },
    });
  });

  it("names the address that the browser used, as a proxy with TLS passes it on", async () => {
    const headers = { host: "events.example:8443", "x-forwarded-proto": "https" };
    const answer = await send(`${server.url}/v1/projects/WK/settings`, { headers });
    expect(answer.json()).toMatchObject({
      integrations: { "Segment.io": { apiHost: "events.example:8443/v1", protocol: "https" } },
    });
  });

  it("gives Rudder's libraries a source without destinations of their own", async () => {
    const authorization = `Basic ${Buffer.from("WK:").toString("base64")}`;
    const answer = await send(`${server.url}/v1/sourceConfig/?p=npm&writeKey=WK`, {
      headers: { authorization },
    });
    expect(answer.json()).toMatchObject({ source: { id: "default", config: {}, destinations: [] } });
  });

  it.each([
    ["/v1/projects/other/settings", {}],
    ["/v1/sourceConfig", {}],
    ["/v1/sourceConfig", { authorization: `Basic ${Buffer.from("other:").toString("base64")}` }],
  ])("refuses an unknown write key at %s in words", async (path, headers) => {
    const answer = await send(`${server.url}${path}`, { headers });
    expect(answer.status).toBe(404);
    expect(answer.json()).toMatchObject({ success: false, code: "unknown_write_key" });
  });
});

describe("paths of browser libraries", () => {
  const event = { writeKey: "WK", userId: "u", event: "Hello" };

  it.each(["//v1/track", "/v1//track", "/v1/t", "//v1//t/"])("takes a call at %s", async (path) => {
    const answer = await send(`${server.url}${path}`, { method: "POST", body: event });
    expect(answer.json()).toEqual({ success: true });
    await server.sender.idle();
    expect(receiver.webhooks).toMatchObject([{ type: "track", event: "Hello" }]);
  });

  it.each(["p", "i"])("takes a call at /v1/%s", async (short) => {
    const answer = await send(`${server.url}/v1/${short}`, { method: "POST", body: event });
    expect(answer.json()).toEqual({ success: true });
    await server.sender.idle();
    expect(receiver.webhooks).toHaveLength(1);
  });

  it("accepts a library's metrics about itself at /v1/m and does not keep them", async () => {
    const answer = await send(`${server.url}/v1/m`, {
      method: "POST",
      body: { series: [{ type: "Counter" }] },
    });
    expect(answer.status).toBe(200);
    expect(answer.json()).toEqual({ success: true });
    await server.sender.idle();
    expect(receiver.webhooks).toEqual([]);
  });

  const base64 = (call: object): string =>
    encodeURIComponent(Buffer.from(JSON.stringify(call)).toString("base64"));

  it("takes the call of a pixel, and answers with a picture", async () => {
    const answer = await send(
      `${server.url}/v1/pixel/track?data=${base64({ ...event, properties: { n: "?>~é" } })}`,
    );
    expect(answer.status).toBe(200);
    expect(answer.headers["content-type"]).toBe("image/gif");
    expect(answer.text).toMatch(/^GIF89a/);
    await server.sender.idle();
    expect(receiver.webhooks).toMatchObject([{ type: "track", event: "Hello", properties: { n: "?>~é" } }]);
  });

  it.each([
    ["/v1/pixel/track", "no_data"],
    ["/v1/pixel/track?data=", "no_data"],
    ["/v1/pixel/track?data=a&data=b", "no_data"],
    ["/v1/pixel/track?data=e30x", "invalid_json"],
    [`/v1/pixel/track?data=${base64({ ...event, properties: { n: "x".repeat(9_000) } })}&more`, undefined],
    ["/v1/pixel/other?data=e30", "not_found"],
  ])("answers %.60s in words", async (path, code) => {
    const answer = await send(`${server.url}${path}`);
    if (code === undefined) expect(answer.status).toBe(200);
    else expect(answer.json()).toMatchObject({ success: false, code, detail: expect.stringMatching(/./) });
  });

  it.each(["/v1", "/v1/", "/v1/nothing", "/v1/projects", "/v1/projects//settings"])(
    "refuses %s in words",
    async (path) => {
      const answer = await send(`${server.url}${path}`);
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(answer.json()).toMatchObject({
        success: false,
        code: expect.any(String),
        detail: expect.stringContaining("/v1/"),
      });
    },
  );
});
