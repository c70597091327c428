import { createServer, type CountersignServer } from "@countersign/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { send, type Outgoing } from "./support/http.ts";

const TOKEN = "the-token-of-the-server";
const TO = "http://127.0.0.1:9/webhooks";

interface Route {
  readonly method: string;
  readonly path: string;
  readonly takesBody: boolean;
}

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly requestBody?: unknown }>>>>;
}

/** Every operation of the document that the server itself publishes: a new one is covered as soon as it is described. */
async function routesOf(server: CountersignServer): Promise<readonly Route[]> {
  const { text } = await send(`${server.url}/api/openapi.json`, {
    headers: { authorization: `Bearer ${TOKEN}` },
  });
  const { paths } = JSON.parse(text) as OpenApi;
  const documented = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { requestBody }]) => ({
      method: method.toUpperCase(),
      path: path.replaceAll(/\{\w+\}/g, "some-name"),
      takesBody: requestBody !== undefined,
    })),
  );
  // The document describes the control API. These stand beside it.
  const others = ["/", "/metrics", "/api/openapi.json"].map((path) => ({
    method: "GET",
    path,
    takesBody: false,
  }));
  return [...documented, ...others];
}

const guarded = await createServer({ to: TO, port: 0, token: TOKEN });
const open = await createServer({ to: TO, port: 0 });
const routes = await routesOf(guarded);
const withToken = { authorization: `Bearer ${TOKEN}` };

const REFUSED: readonly (readonly [
  how: string,
  status: number,
  headers: Readonly<Record<string, string>>,
])[] = [
  ["without the token", 401, {}],
  ["with another token", 401, { authorization: "Bearer another" }],
  [
    "with the token as a password",
    401,
    { authorization: `Basic ${Buffer.from(`:${TOKEN}`).toString("base64")}` },
  ],
  ["with an empty token", 401, { authorization: "Bearer " }],
  ["with the token's beginning", 401, { authorization: `Bearer ${TOKEN.slice(0, -1)}` }],
  ["with another cookie", 401, { cookie: "countersign_4010=another" }],
  ["of a foreign Host", 403, { ...withToken, host: "evil.example" }],
  ["of a Host that only begins like this machine", 403, { ...withToken, host: "127.0.0.1.evil.example" }],
  ["of a foreign Origin", 403, { ...withToken, origin: "https://evil.example" }],
  ["of a page without an origin", 403, { ...withToken, origin: "null" }],
  [
    "of another site, by what the browser says",
    403,
    { ...withToken, "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" },
  ],
];

function outgoing({ method, takesBody }: Route, headers: Readonly<Record<string, string>>): Outgoing {
  if (!takesBody) return { method, headers };
  return { method, headers: { "content-type": "application/json", ...headers }, body: "{}" };
}

/** What a request could have changed. */
async function stateOf(server: CountersignServer): Promise<string> {
  const { minutes, ...stats } = await server.sender.stats();
  return JSON.stringify([
    server.sender.settings,
    await server.sender.deliveries(),
    stats,
    // Another minute may have begun meanwhile.
    minutes.map(({ at: _, ...counts }) => counts),
  ]);
}

let before: string;
beforeAll(async () => {
  before = await stateOf(guarded);
});
afterAll(() => Promise.all([guarded.close(), open.close()]));

it("reads the routes from the server's own document", () => {
  expect(routes.length).toBeGreaterThan(15);
  for (const method of ["GET", "POST", "PUT", "DELETE"])
    expect(routes.map((route) => route.method)).toContain(method);
});

describe.each(routes)("$method $path", (route) => {
  it.each(REFUSED)("is refused %s", async (_how, status, headers) => {
    const answer = await send(guarded.url + route.path, outgoing(route, headers));
    expect(answer.status).toBe(status);
    expect(answer.headers["access-control-allow-origin"]).toBeUndefined();
    expect(answer.text).not.toContain(TOKEN);
  });

  it("is refused with the token in its query, which logs and histories keep", async () => {
    const answer = await send(`${guarded.url}${route.path}?token=${TOKEN}`, outgoing(route, {}));
    // Only the page takes it, to set a cookie, and redirects to a URL without it.
    expect(answer.status).toBe(route.path === "/" ? 303 : 401);
    expect(answer.headers["location"] ?? "").not.toContain(TOKEN);
  });

  it("refuses a cross-site preflight", async () => {
    const headers = { origin: "https://evil.example", "access-control-request-method": route.method };
    const answer = await send(open.url + route.path, { method: "OPTIONS", headers });
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.headers["access-control-allow-origin"]).toBeUndefined();
  });
});

describe.each(routes.filter(({ takesBody }) => takesBody))("$method $path", (route) => {
  it.each(["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=a"])(
    "takes no %s, which a form on any page may post",
    async (type) => {
      const { status } = await send(open.url + route.path, {
        method: route.method,
        headers: { "content-type": type },
        body: "{}",
      });
      expect(status).toBe(415);
    },
  );
});

it("changed nothing by all of that", async () => {
  expect(await stateOf(guarded)).toBe(before);
});

it.each(routes)(
  "lets the token through to $method $path, so the refusals above are the guard's",
  async (route) => {
    const { status } = await send(guarded.url + route.path, outgoing(route, withToken));
    expect([401, 403]).not.toContain(status);
  },
);
