import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import { createServer, type CountersignServer } from "@countersign/server";
import { beforeEach, describe, expect, it } from "vitest";
import { freePort } from "../../../../tests/support/free-port.ts";
import { apiCaller } from "../support/api-caller.ts";
import { readEvents } from "../support/event-reader.ts";
import { send } from "../support/http.ts";
import { SECRET, startReceiver, type Receiver } from "../support/receiver.ts";
import { cleanUp, closing } from "../../../../tests/support/resources.ts";

/** No name that ends so has an address (RFC 6761). */
const NAMELESS = "http://receiver.invalid/";
/** Where nothing resolves names, the system says so in its own way, or takes longer than this server waits. */
const NO_ADDRESS = /ENOTFOUND|EAI_AGAIN|ETIMEDOUT/;

let receiver: Receiver;
let server: CountersignServer;
const { call } = apiCaller(() => server);

beforeEach(async () => {
  receiver = closing(await startReceiver());
  server = closing(await createServer({ to: receiver.url, secret: SECRET, port: 0 }));
});

/** Counts the connections of this process to addresses that begin so, until the end of the test. */
function connectionsTo(beginning: string): { made: () => number; most: () => number } {
  const sockets: Socket[] = [];
  let most = 0;
  const watch = (message: unknown): void => {
    const { socket } = message as { readonly socket: Socket };
    socket.once("connectionAttempt", (address: string) => {
      if (!address.startsWith(beginning)) return;
      sockets.push(socket);
      most = Math.max(most, sockets.filter(({ destroyed }) => !destroyed).length);
    });
  };
  subscribe("net.client.socket", watch);
  cleanUp(() => unsubscribe("net.client.socket", watch));
  return { made: () => sockets.length, most: () => most };
}

async function record(event: string): Promise<void> {
  await send(`${server.url}/v1/track`, { method: "POST", body: { writeKey: "any", userId: "u1", event } });
  await server.sender.idle();
}

describe("the status", () => {
  it("tells the run that ids of events begin with, and what the server is set to", async () => {
    const status = (await call("GET", "/status")).json() as { run: string };
    expect(status).toMatchObject({
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      clock: "system",
      delivers: true,
      kept: "memory",
      store: { state: "up" },
      budgetMs: 5_000,
      retryWindowMs: 14_400_000,
      recording: false,
      certify: true,
      faults: expect.arrayContaining(["bad_signature", "rate_limit"]),
    });
    const ids: string[] = [];
    server.subscribe(({ id }) => ids.push(id));
    await record("One");
    expect(ids.map((id) => id.split("-")[0])).toEqual([status.run, status.run, status.run]);
  });

  it("tells which endpoints can be reached, without sending anything", async () => {
    const port = await freePort();
    const endpoints = [{ url: receiver.url }, { url: `http://127.0.0.1:${port}/` }];
    await call("PUT", "/sources/default/destinations/webhooks", { endpoints });
    expect((await call("GET", "/reachability")).json()).toMatchObject([
      { destination: "default/webhooks", url: receiver.url, reachable: true },
      { url: `http://127.0.0.1:${port}/`, reachable: false, code: "ECONNREFUSED" },
    ]);
    expect(receiver.attempts()).toBe(0);
  });

  it("tells of an address that no delivery may call that it cannot be reached, and does not try", async () => {
    const endpoints = [{ url: "http://169.254.169.254/latest" }];
    await call("PUT", "/sources/default/destinations/webhooks", { endpoints });
    expect((await call("GET", "/reachability")).json()).toMatchObject([
      { reachable: false, code: "ERR_ADDRESS_BLOCKED", message: expect.stringContaining("is never called") },
    ]);
  });

  it("tells of a name that has no address that it has none, not that it may not be called", async () => {
    await call("PUT", "/sources/default/destinations/webhooks", { endpoints: [{ url: NAMELESS }] });
    expect((await call("GET", "/reachability")).json()).toMatchObject([
      { reachable: false, code: expect.stringMatching(NO_ADDRESS) },
    ]);
    const { id } = (await call("POST", "/certify", { url: NAMELESS, secret: SECRET })).json() as {
      id: string;
    };
    await expect
      .poll(async () => (await call("GET", `/certifications/${id}`)).json())
      .toMatchObject({ error: expect.stringMatching(NO_ADDRESS) });
  });

  it("opens few connections at once, and one for each address, however many endpoints there are and whoever asks", async () => {
    // On most machines nothing listens there.
    const hosts = Array.from({ length: 120 }, (_, index) => `127.0.1.${index + 1}:9`);
    const urls = hosts.flatMap((host) => [`http://${host}/one`, `http://${host}/two`]);
    const sources = urls.map((url, index) => ({
      name: `s${index}`,
      destinations: [{ endpoints: [{ url }] }],
    }));
    server = closing(await createServer({ sources, port: 0 }));
    const { made, most } = connectionsTo("127.0.1.");
    const answers = await Promise.all([call("GET", "/reachability"), call("GET", "/reachability")]);
    for (const answer of answers) {
      const list = answer.json() as { url: string }[];
      expect(list.map(({ url }) => url)).toEqual(urls);
    }
    expect(made()).toBe(hosts.length);
    expect(most()).toBeLessThanOrEqual(50);
  });

  it("does not let a server that must not call private networks be used to look for what listens there", async () => {
    server = closing(await createServer({ to: receiver.url, port: 0, blockPrivateNetworks: true }));
    expect((await call("GET", "/reachability")).status).toBe(409);
    expect((await call("POST", "/certify", { url: receiver.url, secret: SECRET })).status).toBe(409);
    expect((await call("GET", "/status")).json()).toMatchObject({ certify: false });
  });

  it("opens no connection beside a proxy that everything has to go through", async () => {
    server = closing(await createServer({ to: receiver.url, port: 0, proxy: "http://127.0.0.1:9" }));
    const detail = "With a proxy, only deliveries open connections, because they go through it.";
    expect((await call("GET", "/reachability")).json()).toMatchObject({ status: 409, detail });
    const audits = (await call("POST", "/certify", { url: receiver.url, secret: SECRET })).json();
    expect(audits).toMatchObject({
      status: 409,
      detail: `${detail} For audits, use \`countersign certify\`.`,
    });
    expect((await call("GET", "/status")).json()).toMatchObject({ certify: false });
  });
});

describe("statistics", () => {
  it("count by source, destination, endpoint and minute", async () => {
    await record("First");
    receiver.answers.push(400);
    await record("Second");
    const stats = (await call("GET", "/stats")).json() as { minutes: { attempts: number }[] };
    expect(stats).toMatchObject({
      sources: [{ source: "default", usage: 2 }],
      destinations: [{ destination: "default/webhooks", configured: true, delivered: 1, failed: 1 }],
      endpoints: [
        {
          url: receiver.url,
          outcomes: { success: 1, rejected: 1 },
          failures: 1,
          failingSince: expect.stringMatching(/Z$/),
          lastFailure: { outcome: "rejected", status: 400, answer: "400" },
        },
      ],
    });
    expect(stats.minutes).toHaveLength(60);
    expect(stats.minutes.reduce((sum, { attempts }) => sum + attempts, 0)).toBe(2);
  });
});

describe("events of failure", () => {
  it("tell that an endpoint is failing, once, and that it has recovered", async () => {
    const reader = await readEvents(server.url);
    receiver.answers.push(...Array.from({ length: 7 }, () => 400));
    for (let n = 0; n < 8; n += 1) await record(`Event ${n}`);
    const told = () => reader.events().filter(({ event }) => event === "failing" || event === "recovered");
    await expect.poll(told).toMatchObject([
      {
        event: "failing",
        destination: "default/webhooks",
        endpoint: receiver.url,
        failures: 5,
        last: { status: 400 },
      },
      { event: "recovered", failures: 7, since: expect.stringMatching(/Z$/), last: { status: 204 } },
    ]);
  });
});
