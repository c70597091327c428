import { once } from "node:events";
import { createServer as createHttpServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { createServer, type CountersignServer, type LiveEvent } from "@countersign/server";
import { beforeEach, describe, expect, it } from "vitest";
import { send, type Answer } from "../support/http.ts";
import { SECRET, startReceiver, type Receiver } from "../support/receiver.ts";
import { cleanUp, closing } from "../../../../tests/support/resources.ts";

const TOKEN = "Bearer canary-token";
const PATH = "/api/sources/default/destinations/webhooks";

let receiver: Receiver;
let server: CountersignServer;

beforeEach(async () => {
  receiver = closing(await startReceiver());
  const endpoints = [{ url: receiver.url, headers: { Authorization: TOKEN, "X-Team": "a" } }];
  const destinations = [{ name: "webhooks", endpoints, secret: SECRET }];
  const sources = [{ name: "default", writeKey: "canary-key", destinations }];
  server = closing(await createServer({ sources, port: 0 }));
});

function put(body: object): Promise<Answer> {
  return send(server.url + PATH, { method: "PUT", body });
}

async function track(fields: object = {}): Promise<void> {
  const body = { writeKey: "canary-key", userId: "u", event: "e", ...fields };
  await send(`${server.url}/v1/track`, { method: "POST", body });
  await server.sender.idle();
}

async function onlyId(): Promise<string> {
  const [delivery, ...others] = await server.sender.deliveries();
  expect(others).toEqual([]);
  return delivery?.id ?? "";
}

/** An endpoint that rejects a message with what `answer` makes of the request. */
async function startEcho(answer: (request: IncomingMessage) => string): Promise<string> {
  const echo = createHttpServer((request, response) => response.writeHead(400).end(answer(request)));
  echo.listen(0, "127.0.0.1");
  await once(echo, "listening");
  cleanUp(() => echo.close());
  return `http://127.0.0.1:${(echo.address() as AddressInfo).port}/`;
}

describe("credentials", () => {
  it("appear in no output: static headers, secrets and tokens", async () => {
    await track();
    expect(receiver.webhooks).toHaveLength(1);
    const id = await onlyId();
    const paths = ["/", "/api/sources", "/api/deliveries", `/api/deliveries/${id}`, "/api/stats", "/metrics"];
    for (const path of paths) {
      const { text } = await send(server.url + path);
      expect(text).not.toContain("canary-token");
      expect(text).not.toContain(SECRET);
    }
    expect((await send(`${server.url}/api/sources`)).json()).toMatchObject([
      { destinations: [{ endpoints: [{ headers: { Authorization: "(hidden)", "X-Team": "(hidden)" } }] }] },
    ]);
    expect((await send(`${server.url}/api/deliveries/${id}`)).text).toContain("-H 'Authorization: (hidden)'");
  });

  it("do not appear in the response of an endpoint that echoes its request", async () => {
    const url = await startEcho(({ headers }) => JSON.stringify(headers));
    await put({ endpoints: [{ url, headers: { Authorization: TOKEN, "X-Team": "a" } }] });
    await track();
    const detail = await send(`${server.url}/api/deliveries/${await onlyId()}`);
    const { history } = detail.json() as { history: { response: string }[] };
    expect(history[0]?.response).toMatch(/"authorization":"Bearer \(hidden\)","x-team":"a"/);
    const answer = await send(`${server.url}/api/deliveries`);
    expect(answer.text + detail.text).not.toContain("canary-token");
  });

  it("are not in the live events either, which serve --json prints and pages follow", async () => {
    const url = await startEcho(({ headers }) => `${headers.authorization} ${SECRET}`);
    await put({ endpoints: [{ url, headers: { Authorization: TOKEN } }] });
    const events: LiveEvent[] = [];
    server.subscribe((event) => events.push(event));
    await track();
    const [attempt] = events.flatMap((event) => (event.event === "attempt" ? [event.attempt] : []));
    expect(attempt?.response).toBe("Bearer (hidden) (hidden)");
    expect(JSON.stringify(events)).not.toContain("canary-token");
  });

  it("are not in an answer either that was cut in the middle of one", async () => {
    const kept = 16_384;
    const url = await startEcho(({ headers }) => `${"x".repeat(kept - 17)}${headers.authorization}`);
    await put({ endpoints: [{ url, headers: { Authorization: TOKEN } }] });
    await track();
    const { history } = (await send(`${server.url}/api/deliveries/${await onlyId()}`)).json() as {
      history: { response: string }[];
    };
    expect(history[0]?.response).toMatch(/xBearer \(hidden\)$/);
  });

  it("a write key is not shown, and stays when the source is read, changed and sent back", async () => {
    const read = await send(`${server.url}/api/sources`);
    expect(read.json()).toMatchObject([{ writeKey: "(hidden)" }]);
    const body = { writeKey: "(hidden)", blockedEvents: ["Blocked"] };
    const changed = await send(`${server.url}/api/sources/default`, { method: "PUT", body });
    expect(changed.json()).toMatchObject({ writeKey: "(hidden)", blockedEvents: ["Blocked"] });
    expect(server.sender.settings.sources[0]?.writeKey).toBe("canary-key");
    const refused = await send(`${server.url}/api/sources/new`, { method: "PUT", body });
    expect([refused.status, refused.json()]).toMatchObject([
      422,
      { detail: "The write key is hidden, and this source had no write key. Pass its value." },
    ]);
  });

  it("stay when what was read is changed and sent back, and are not taken for their placeholder", async () => {
    const [source] = (await send(`${server.url}/api/sources`)).json() as {
      destinations: { endpoints: { url: string; headers: object }[] }[];
    }[];
    const endpoints = source?.destinations[0]?.endpoints ?? [];
    const added = endpoints.map((endpoint) => ({
      ...endpoint,
      headers: { ...endpoint.headers, "X-New": "b" },
    }));
    expect((await put({ endpoints: added })).status).toBe(200);
    expect(server.sender.settings.sources[0]?.destinations[0]?.endpoints).toEqual([
      { url: receiver.url, headers: { Authorization: TOKEN, "X-Team": "a", "X-New": "b" } },
    ]);
    const elsewhere = endpoints.map((endpoint) => ({ ...endpoint, url: "http://127.0.0.1:9/other" }));
    const refused = await put({ endpoints: elsewhere });
    expect([refused.status, refused.json()]).toMatchObject([
      422,
      { detail: expect.stringContaining('The value of the header "Authorization" is hidden') },
    ]);
  });

  it("are not kept with a rejected message: its write key, wherever it stood", async () => {
    await track({ event: "" });
    await track({ writeKey: "canary-key-misspelt" });
    const batch = { writeKey: "canary-key", batch: [{ type: "track", writeKey: "canary-key" }] };
    await send(`${server.url}/v1/batch`, { method: "POST", body: batch });
    await send(`${server.url}/v1/batch`, { method: "POST", body: { writeKey: "canary-key", batch: {} } });
    const kept = await send(`${server.url}/api/rejections`);
    expect(kept.json()).toHaveLength(4);
    expect(kept.text).not.toContain("canary-key");
  });
});
