import { execFile } from "node:child_process";
import { createHmac } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { promisify } from "node:util";
import type { Fault } from "@countersign/sender/faults";
import {
  virtualClock,
  type TestSender,
  type TestSenderOptions,
  type VirtualClock,
} from "@countersign/sender/testing";
import { describe, expect, it } from "vitest";
import { openSender } from "./support/open-sender.ts";
import { httpEndpoint, type Endpoint, type SeenRequest } from "./support/endpoints.ts";

const SECRET = "correct horse battery staple";
const USER = { userId: "u1" };

function signatureIsRight({ body, headers }: SeenRequest): boolean {
  return headers["x-signature"] === createHmac("sha1", SECRET).update(body).digest("hex");
}

function verdictOn(request: SeenRequest): number {
  if (request.body.length > 1_048_576) {
    return 413;
  }
  return signatureIsRight(request) ? 200 : 401;
}

/** A receiver that verifies, and refuses what is too large. */
function verifyingReceiver(): Promise<Endpoint> {
  return httpEndpoint((request, response) => response.writeHead(verdictOn(request)).end());
}

function eventsOf({ requests }: Endpoint): unknown[] {
  return requests.map(({ body }) => (JSON.parse(body.toString()) as Record<string, unknown>)["event"]);
}

interface Setup {
  readonly receiver: Endpoint;
  readonly sender: TestSender;
  readonly clock: VirtualClock;
}

async function setUp(options: Partial<TestSenderOptions> = {}): Promise<Setup> {
  const receiver = await verifyingReceiver();
  const clock = virtualClock();
  const sender = await openSender({ url: receiver.url, secret: SECRET, clock, seed: 1, ...options });
  return { receiver, sender, clock };
}

describe("an injected fault", () => {
  it.each<[Fault, number]>([
    ["bad_signature", 401],
    ["missing_signature", 401],
    ["stale_secret", 401],
    ["oversize", 413],
  ])("%s is rejected by a receiver that verifies, and is logged with the attempt", async (fault, status) => {
    const { receiver, sender } = await setUp();
    sender.inject(fault);

    const receipt = await sender.track({ ...USER, event: "A" });
    const struck = await sender.expect(receipt).failed();
    const next = await sender.expect(await sender.track({ ...USER, event: "B" })).delivered();

    expect(struck.attempts).toMatchObject([{ outcome: "rejected", status, fault }]);
    expect(next.attempts).toMatchObject([{ outcome: "success" }]);
    expect(next.attempts[0]?.fault).toBeUndefined();
    expect(receiver.requests).toHaveLength(2);
  });

  it.each<Fault>(["truncated", "reset"])(
    "%s never reaches the receiver whole; the retry does",
    async (fault) => {
      const { receiver, sender, clock } = await setUp();
      sender.inject(fault);

      const receipt = await sender.track({ ...USER, event: "A" });
      await clock.advance("1m");
      const delivery = await sender.expect(receipt).delivered();

      expect(delivery.attempts).toMatchObject([{ outcome: "network", fault }, { outcome: "success" }]);
      expect(receiver.requests.map(({ body }) => body.toString())).toEqual([
        Buffer.from(delivery.body).toString(),
      ]);
    },
  );

  it("slow_body is still delivered", async () => {
    const { receiver, sender } = await setUp();
    sender.inject("slow_body");

    const receipt = await sender.track({ ...USER, event: "Größe ☃" });
    const delivery = await sender.expect(receipt, { within: "20s" }).delivered();

    expect(delivery.attempts).toMatchObject([{ outcome: "success", fault: "slow_body" }]);
    expect(receiver.requests.every(signatureIsRight)).toBe(true);
  });

  it("duplicate sends the same bytes twice, and logs both attempts", async () => {
    const { receiver, sender } = await setUp();
    sender.inject("duplicate");

    const delivery = await sender.expect(await sender.track({ ...USER, event: "A" })).delivered();

    expect(delivery.attempts).toMatchObject([
      { round: 1, outcome: "success", fault: "duplicate" },
      { round: 1, outcome: "success", fault: "duplicate" },
    ]);
    const [first, second, ...others] = receiver.requests;
    expect(second).toEqual(first);
    expect(others).toEqual([]);
  });

  it.each<[Fault, string]>([
    ["status:503", "server_error"],
    ["timeout", "timeout"],
    ["refused", "network"],
  ])(
    "%s for four hours needs no code in the app: the delivery expires, and the next arrives",
    async (fault, outcome) => {
      const { receiver, sender, clock } = await setUp();
      const outage = sender.inject(fault, { times: Number.POSITIVE_INFINITY });
      const receipt = await sender.track({ ...USER, event: "A" });
      await clock.advance("4h");
      const { attempts } = await sender.expect(receipt).expired();
      expect(new Set(attempts.map((attempt) => attempt.outcome))).toEqual(new Set([outcome]));
      expect(attempts.length).toBeGreaterThan(15);

      outage.cancel();
      await sender.expect(await sender.track({ ...USER, event: "B" })).delivered();
      expect(eventsOf(receiver)).toEqual(["B"]);
    },
  );

  it("reorder lets later messages overtake", async () => {
    const { receiver, sender, clock } = await setUp();
    sender.inject("reorder");

    await sender.track({ ...USER, event: "first" });
    await sender.track({ ...USER, event: "second" });
    await clock.advance(0);
    expect(eventsOf(receiver)).toEqual(["second"]);
    await clock.advance("1s");

    expect(eventsOf(receiver)).toEqual(["second", "first"]);
  });

  it("reorder on every delivery changes their order among themselves, and loses none", async () => {
    const { receiver, sender, clock } = await setUp();
    sender.inject("reorder", { times: Number.POSITIVE_INFINITY });
    const events = Array.from({ length: 12 }, (_, n) => `event ${n}`);

    for (const event of events) {
      await sender.track({ ...USER, event });
    }
    await clock.advance("1s");

    const arrived = eventsOf(receiver);
    expect(arrived).not.toEqual(events);
    expect(arrived.toSorted()).toEqual(events.toSorted());
  });
});

describe("the scope of a fault", () => {
  it("is one attempt of any delivery by default", async () => {
    const { sender } = await setUp();
    const fault = sender.inject("bad_signature");

    expect(fault.remaining).toBe(1);
    await sender.expect(await sender.track({ ...USER, event: "A" })).failed();
    expect(fault.remaining).toBe(0);
    await sender.expect(await sender.track({ ...USER, event: "B" })).delivered();
  });

  it("can be one endpoint of several", async () => {
    const one = await verifyingReceiver();
    const two = await verifyingReceiver();
    const endpoints = [{ url: one.url }, { url: two.url }];
    const sender = await openSender({
      sources: [{ name: "web", destinations: [{ endpoints, secret: SECRET }] }],
    });
    sender.inject("missing_signature", { endpoint: two.url, times: Number.POSITIVE_INFINITY });

    const delivery = await sender.expect(await sender.track({ ...USER, event: "A" })).delivered();

    const outcomes = new Map(delivery.attempts.map(({ endpoint, outcome }) => [endpoint, outcome]));
    expect(outcomes.get(one.url)).toBe("success");
    expect(outcomes.get(two.url)).toBe("rejected");
  });

  it("can be one message, and can be cancelled", async () => {
    const { sender } = await setUp();
    sender.inject("bad_signature", { messageId: "m2" });
    const fault = sender.inject("bad_signature", { messageId: "m3", times: 5 });
    fault.cancel();

    for (const messageId of ["m1", "m2", "m3"]) {
      await sender.track({ ...USER, event: "A", messageId });
    }

    await sender.expect({ messageId: "m1" }).delivered();
    await sender.expect({ messageId: "m2" }).failed();
    await sender.expect({ messageId: "m3" }).delivered();
    expect(fault.remaining).toBe(0);
  });
});

describe("a target", () => {
  it("is delivered to at its path, with its headers, signed", async () => {
    const seen: { url: string | undefined; static: unknown; signature: unknown }[] = [];
    const sender = await openSender({
      target: (request, response) => {
        const { url, headers } = request;
        seen.push({ url, static: headers["x-static"], signature: headers["x-signature"] });
        response.writeHead(204).end();
      },
      path: "/hooks?tenant=1",
      headers: { "X-Static": "yes" },
      secret: SECRET,
    });

    await sender.expect(await sender.track({ ...USER, event: "A" })).delivered();

    expect(seen).toMatchObject([{ url: "/hooks?tenant=1", static: "yes" }]);
    expect(seen[0]?.signature).toMatch(/^[0-9a-f]{40}$/u);
  });

  it.each([
    ["a path without a slash", { path: "hooks" }],
    ["a path that is another host", { path: "//elsewhere.example/hooks" }],
    ["a whole URL", { path: "https://elsewhere.example/" }],
    ["private networks blocked", { blockPrivateNetworks: true }],
    ["something else than an application", { target: "http://127.0.0.1/" as never }],
  ])("is a TypeError with %s", async (_, options) => {
    const target = (request: IncomingMessage, response: ServerResponse): void => {
      request.resume();
      response.end();
    };

    await expect(openSender({ target, ...options })).rejects.toThrow(TypeError);
  });

  it("is closed with the sender: nothing keeps the process open", async () => {
    const script = `
      import { createTestSender } from ${JSON.stringify(new URL("../dist/testing.js", import.meta.url))};
      const target = (request, response) => {
        request.resume().on("end", () => response.writeHead(204).end());
      };
      const sender = await createTestSender({ target });
      await sender.expect(await sender.track({ userId: "u1", event: "A" })).delivered();
      sender.inject("reset");
      await sender.expect(await sender.track({ userId: "u1", event: "B" })).attempts(["network"]);
      await sender.close();
      // Some turns of the event loop, for what was closed to be gone.
      const open = () => process.getActiveResourcesInfo().filter((name) => !/^(Pipe|TTY)Wrap$/.test(name));
      for (let turn = 0; turn < 20 && open().length > 0; turn++) await new Promise(setImmediate);
      console.log(open().join());
    `;
    const args = ["--input-type=module", "--eval", script];

    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 25_000 });

    expect(stdout).toBe("\n");
  });
});
