import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { promisify } from "node:util";
import { createServer, type CountersignServer, type LiveEvent } from "@countersign/server";
import { virtualClock } from "@countersign/sender/testing";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { isWindows, noPosix } from "../../../core/test/support/windows.ts";
import { apiCaller } from "../support/api-caller.ts";
import { send } from "../support/http.ts";
import { portOf, SECRET, startReceiver, type Receiver } from "../support/receiver.ts";
import { closing } from "../../../../tests/support/resources.ts";

let receiver: Receiver;
let server: CountersignServer;
const { call } = apiCaller(() => server);

beforeEach(async () => {
  receiver = closing(await startReceiver());
  server = closing(await createServer({ to: receiver.url, secret: SECRET, port: 0 }));
});

async function record(event: string, userId = "u1"): Promise<string> {
  const receipt = await server.sender.track({ userId, event });
  await server.sender.idle();
  return receipt.deliveries[0] ?? "";
}

interface Page {
  readonly deliveries: readonly { readonly id: string; readonly event: string; readonly attempts: number }[];
  readonly next?: string;
}

const page = async (query: string): Promise<Page> =>
  (await call("GET", `/deliveries${query}`)).json() as Page;
const events = async (query: string): Promise<readonly string[]> =>
  (await page(query)).deliveries.map(({ event }) => event);

describe("the list of deliveries", () => {
  it("has summaries: how many attempts, and how the last one ended, but nothing that was sent or answered", async () => {
    receiver.answers.push(400);
    await record("Ordered");
    const { deliveries } = await page("");
    expect(deliveries).toMatchObject([
      {
        event: "Ordered",
        state: "failed",
        attempts: 1,
        last: { round: 1, outcome: "rejected", status: 400 },
      },
    ]);
    expect(Object.keys(deliveries[0] ?? {})).not.toContain("body");
    expect(JSON.stringify(deliveries)).not.toContain('"response"');
  });

  it("tells the next attempt of the longest window, however late an endpoint wants it", async () => {
    const late = createHttpServer((request, response) => {
      request.resume().on("end", () => response.writeHead(503, { "retry-after": "9999999999999" }).end());
    });
    await once(closing(late).listen(0, "127.0.0.1"), "listening");
    const retry = { windowMs: 3_155_760_000_000, lastRetryMarginMs: 0 };
    server = closing(await createServer({ to: `http://127.0.0.1:${portOf(late)}/`, retry, port: 0 }));
    const kinds: string[] = [];
    server.subscribe(({ event }) => kinds.push(event));
    await server.sender.track({ userId: "u1", event: "Ordered" });
    await vi.waitFor(() => expect(kinds).toContain("retrying"));
    const [waits] = (await page("")).deliveries as unknown as readonly Record<
      "acceptedAt" | "dueAt",
      string
    >[];
    expect(Date.parse(waits?.dueAt ?? "") - Date.parse(waits?.acceptedAt ?? "")).toBe(retry.windowMs);
  });

  it("stays small however much was answered", async () => {
    const large = createHttpServer((request, response) => {
      request.resume().on("end", () => response.writeHead(400).end("x".repeat(20_000)));
    });
    await once(closing(large).listen(0, "127.0.0.1"), "listening");
    const endpoints = [1, 2, 3, 4, 5].map((n) => ({ url: `http://127.0.0.1:${portOf(large)}/${n}` }));
    await call("PUT", "/sources/default/destinations/webhooks", { endpoints });
    const id = await record("Ordered");
    expect((await call("GET", `/deliveries/${id}`)).text.length).toBeGreaterThan(5 * 16_384);
    const list = await call("GET", "/deliveries");
    expect(list.json()).toMatchObject({ deliveries: [{ attempts: 5 }] });
    expect(list.text.length).toBeLessThan(1_000);
  });

  it("is filtered by everything that a summary shows; a repeated parameter matches any of its values", async () => {
    await record("Ordered");
    receiver.answers.push(400);
    await record("Order Failed", "u2");
    receiver.answers.push(404);
    await record("Shipped", "u3");
    const id = (await page("")).deliveries[1]?.id;
    for (const [query, expected] of [
      ["?state=failed", ["Shipped", "Order Failed"]],
      ["?state=failed&state=delivered&status=400&status=204", ["Order Failed", "Ordered"]],
      ["?status=400&status=204", ["Order Failed", "Ordered"]],
      ["?outcome=success", ["Ordered"]],
      ["?outcome=rejected&state=delivered", []],
      [`?endpoint=${encodeURIComponent(receiver.url)}`, ["Shipped", "Order Failed", "Ordered"]],
      ["?endpoint=http://127.0.0.1:9/", []],
      ["?q=Order", ["Order Failed", "Ordered"]],
      ["?q=u2", ["Order Failed"]],
      [`?q=${id}`, ["Order Failed"]],
      ["?identity=u1&identity=u3", ["Shipped", "Ordered"]],
      ["?until=2000-01-01T00:00:00Z", []],
      [
        "?since=2000-01-01T00:00:00Z&type=track&destination=default/webhooks",
        ["Shipped", "Order Failed", "Ordered"],
      ],
    ] as const) {
      expect([query, await events(query)]).toEqual([query, expected]);
      const { count } = (await call("GET", `/deliveries/count${query}`)).json() as { count: number };
      expect([query, count]).toEqual([query, expected.length]);
    }
  });

  it("is read page by page, each delivery once, while others arrive and are removed", async () => {
    for (let n = 0; n < 7; n += 1) await record(`Event ${n}`);
    const first = await page("?limit=3");
    expect(first.deliveries.map(({ event }) => event)).toEqual(["Event 6", "Event 5", "Event 4"]);
    await record("Event 7");
    await call("DELETE", `/deliveries?event=${encodeURIComponent("Event 4")}`);
    const second = await page(`?limit=3&after=${first.next}`);
    expect(second.deliveries.map(({ event }) => event)).toEqual(["Event 3", "Event 2", "Event 1"]);
    const third = await page(`?limit=3&after=${second.next}`);
    expect([third.deliveries.map(({ event }) => event), third.next]).toEqual([["Event 0"], undefined]);
  });

  it("says which parameter is wrong", async () => {
    for (const [query, parameter] of [
      ["?after=nonsense", "after"],
      ["?state=lost", "state"],
      ["?status=ok", "status"],
      ["?since=yesterday", "since"],
      ["?limit=1001", "limit"],
      ["?before=x", "before"],
    ]) {
      const answer = await call("GET", `/deliveries${query}`);
      expect([query, answer.status, answer.json()]).toMatchObject([query, 400, { errors: [{ parameter }] }]);
    }
    expect((await call("GET", "/deliveries/count?limit=1")).status).toBe(400);
  });
});

describe("one delivery", () => {
  it("shows what was sent and answered, a forged signature as it was sent, and a curl command for each endpoint", async () => {
    const other = closing(await startReceiver());
    await call("PUT", "/sources/default/destinations/webhooks", {
      endpoints: [
        { url: receiver.url, headers: { Authorization: "Bearer canary-token" } },
        { url: `${other.url}?filter[a]={b}` },
      ],
    });
    await call("POST", "/faults", { fault: "bad_signature", endpoint: receiver.url });
    const id = await record("It's");
    const answer = await call("GET", `/deliveries/${id}`);
    const detail = answer.json() as {
      body: string;
      bytes: number;
      signature: string;
      curls: { endpoint: string; curl: string }[];
      history: { endpoint: string; requestHeaders: Record<string, string>; responseHeaders: object }[];
    };
    expect(detail.bytes).toBe(Buffer.byteLength(detail.body));
    expect(JSON.parse(detail.body)).toMatchObject({ type: "track", event: "It's" });
    const sent = (url: string) =>
      detail.history.find(({ endpoint }) => endpoint === url)?.requestHeaders ?? {};
    const signatureOf = (headers: Record<string, string>) =>
      Object.entries(headers).find(([name]) => name.toLowerCase() === "x-signature")?.[1];
    const second = detail.curls[1];
    expect(signatureOf(sent(second?.endpoint ?? ""))).toBe(detail.signature);
    expect(signatureOf(sent(receiver.url))).toMatch(/^[0-9a-f]{40}$/);
    expect(signatureOf(sent(receiver.url))).not.toBe(detail.signature);
    expect(detail.curls.map(({ endpoint }) => endpoint)).toEqual([
      receiver.url,
      `${other.url}?filter[a]={b}`,
    ]);
    // With -g, curl takes brackets for what they are.
    expect(second?.curl).toMatch(/^curl -g /);
    expect(second?.curl).toContain(
      `-H 'X-Signature: ${detail.signature}' --data-raw '${detail.body.replaceAll("'", "'\\''")}'`,
    );
    expect(detail.history[0]?.responseHeaders).toMatchObject({ "x-powered-by": "Express" });
    expect(answer.text).not.toContain("canary-token");
  });

  it.skipIf(isWindows)(
    `whose bytes are not UTF-8 has a command that sends them as they are${noPosix}`,
    async () => {
      const received: Buffer[] = [];
      const bytes = createHttpServer((request, response) => {
        request.on("data", (chunk: Buffer) => received.push(chunk)).on("end", () => response.end());
      });
      await once(closing(bytes).listen(0, "127.0.0.1"), "listening");
      const endpoints = [{ url: `http://127.0.0.1:${portOf(bytes)}/` }];
      await call("PUT", "/sources/default/destinations/webhooks", { endpoints });
      const body = Buffer.from([0x7b, 0xff, 0x7d]);
      const again = await server.sender.resend(await record("Ordered"), { body });
      await server.sender.idle();
      const detail = (await call("GET", `/deliveries/${again.deliveries[0]}`)).json() as {
        curls: { curl: string }[];
      };
      received.length = 0;
      await promisify(execFile)("sh", ["-c", detail.curls[0]?.curl ?? ""]);
      expect(Buffer.concat(received)).toEqual(body);
    },
  );

  it("is said to be retried for as long as it is, and to need a resend when it has expired", async () => {
    const clock = virtualClock("2026-01-01T00:00:00Z");
    receiver.down = true;
    const retry = { windowMs: 3_600_000 };
    server = closing(await createServer({ to: receiver.url, secret: SECRET, port: 0, clock, retry }));
    const { deliveries } = await server.sender.track({ userId: "u1", event: "Ordered" });
    await clock.advance(0);
    expect((await call("GET", `/deliveries/${deliveries[0]}`)).json()).toMatchObject({
      state: "pending",
      advice: expect.stringMatching(/not available now\. The delivery is retried for 60 min\./),
    });
    await clock.advance("2h");
    expect((await call("GET", `/deliveries/${deliveries[0]}`)).json()).toMatchObject({
      state: "expired",
      advice: expect.stringMatching(/not available now\. There is no retry: resend/),
    });
  });

  it("is said to wait for its destination while that is disabled or has gone, not to be retried", async () => {
    const clock = virtualClock();
    receiver.down = true;
    server = closing(await createServer({ to: receiver.url, secret: SECRET, port: 0, clock }));
    const { deliveries } = await server.sender.track({ userId: "u1", event: "Ordered" });
    await clock.advance(0);
    const path = "/sources/default/destinations/webhooks";
    const advice = async (): Promise<unknown> =>
      ((await call("GET", `/deliveries/${deliveries[0]}`)).json() as { readonly advice: unknown }).advice;
    await call("PUT", path, { endpoints: [{ url: receiver.url }], enabled: false });
    expect(await advice()).toMatch(/^Its destination is disabled, so it waits\./);
    await call("DELETE", path);
    expect(await advice()).toMatch(/^Its destination has no settings, so it waits\./);
  });

  it("that does not exist is 404", async () => {
    expect((await call("GET", "/deliveries/none")).json()).toMatchObject({ status: 404, title: "Not Found" });
  });
});

describe("calls that go nowhere", () => {
  it("are listed with the reason, filtered, and page by page", async () => {
    await call("PUT", "/sources/default", { blockedEvents: ["Blocked"] });
    for (const event of ["Blocked", "Off"]) {
      const integrations = event === "Off" ? { All: false } : {};
      const body = { writeKey: "any", userId: "u1", event, integrations };
      await send(`${server.url}/v1/track`, { method: "POST", body });
    }
    const first = (await call("GET", "/skipped?limit=1")).json() as { calls: object[]; next: string };
    expect(first.calls).toMatchObject([
      { event: "Off", reason: "integrations", identity: "u1", source: "default" },
    ]);
    expect((await call("GET", `/skipped?after=${first.next}`)).json()).toMatchObject({
      calls: [{ event: "Blocked", reason: "blocked_event" }],
    });
    expect((await call("GET", "/skipped?reason=blocked_event&q=Blo")).json()).toMatchObject({
      calls: [{ event: "Blocked" }],
    });
    expect((await call("GET", "/skipped?reason=nonsense")).status).toBe(400);
  });
});

describe("the virtual clock", () => {
  it("goes to the time when the next delivery is due, and says when that is", async () => {
    const clock = virtualClock("2026-01-01T00:00:00Z");
    server = closing(await createServer({ to: receiver.url, secret: SECRET, port: 0, clock }));
    expect((await call("POST", "/clock", { advance: "next" })).status).toBe(409);
    receiver.down = true;
    await server.sender.track({ userId: "u1", event: "Ordered" });
    await clock.advance(0);
    expect(receiver.attempts()).toBe(1);
    const { nextDueAt } = (await call("GET", "/clock")).json() as { nextDueAt: string };
    expect(nextDueAt > "2026-01-01T00:00:00Z").toBe(true);
    const moved = (await call("POST", "/clock", { advance: "next" })).json() as {
      now: string;
      nextDueAt: string;
    };
    expect(moved.now).toBe(nextDueAt);
    expect(receiver.attempts()).toBe(2);
    receiver.down = false;
    await call("POST", "/clock", { advance: "next" });
    expect(receiver.webhooks).toHaveLength(1);
    expect((await call("GET", "/clock")).json()).not.toHaveProperty("nextDueAt");
  });

  it("says while advances take long to when they lead together, and nothing of it once they have ended or failed", async () => {
    const clock = virtualClock("2026-01-01T00:00:00Z");
    server = closing(await createServer({ to: receiver.url, secret: SECRET, port: 0, clock }));
    const told: LiveEvent[] = [];
    server.subscribe((event) => told.push(event));
    const read = async (): Promise<unknown> => (await call("GET", "/clock")).json();
    const answered = clock.hold();
    const moves = ["1h", "2h"].map((advance) => call("POST", "/clock", { advance }));
    const advancingTo = "2026-01-01T03:00:00.000Z";
    const now = "2026-01-01T00:00:00.000Z";
    await vi.waitFor(async () => expect(await read()).toMatchObject({ now, advancingTo }));
    const event = expect.objectContaining({ event: "advancing", now, advancingTo });
    await vi.waitFor(() => expect(told).toContainEqual(event));
    answered();
    await Promise.all(moves);
    expect(await read()).toEqual({ kind: "virtual", now: advancingTo });
    expect((await call("POST", "/clock", { advance: 8.64e15 })).status).toBe(422);
    expect(await read()).toEqual({ kind: "virtual", now: advancingTo });
  });
});
