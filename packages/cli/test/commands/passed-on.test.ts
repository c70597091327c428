import { once } from "node:events";
import { existsSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { expect, describe, it, vi } from "vitest";
import { freePort } from "../../../../tests/support/free-port.ts";
import { send } from "../../../server/test/support/http.ts";
import { SECRET, startReceiver } from "../../../server/test/support/receiver.ts";
import { cleanUp, closing, temporaryDirectory } from "../../../../tests/support/resources.ts";
import { httpProxy } from "../../../sender/test/support/proxy.ts";
import { startCommand, startServe } from "../support/command.ts";
import { runHere } from "../support/run-here.ts";

const TO = "http://127.0.0.1:9/webhooks";

const statusOf = async (url: string, headers: Record<string, string> = {}): Promise<number> =>
  (await send(url, { headers })).status;

const track = (url: string, properties: object = {}): ReturnType<typeof send> =>
  send(`${url}/v1/track`, {
    method: "POST",
    body: { writeKey: "any", userId: "u1", event: "Ordered", properties },
  });

describe("serve heeds", () => {
  it.each([
    ["--token", ["--token", "let-me-in"], {}],
    ["COUNTERSIGN_TOKEN", [], { COUNTERSIGN_TOKEN: "let-me-in" }],
  ])("%s: without it the API answers 401", async (_name, args, env) => {
    const { url } = await startServe(["--to", TO, ...args], { env });
    expect(await statusOf(`${url}/api/sources`)).toBe(401);
    expect(await statusOf(`${url}/api/sources`, { authorization: "Bearer other" })).toBe(401);
    expect(await statusOf(`${url}/api/sources`, { authorization: "Bearer let-me-in" })).toBe(200);
  });

  it.each(["--to", "the config file"])(
    "COUNTERSIGN_SECRET: messages to the receiver of %s are signed with it",
    async (where) => {
      const receiver = closing(await startReceiver());
      const cwd = temporaryDirectory();
      const config = join(cwd, "countersign.config.json");
      writeFileSync(config, JSON.stringify(where === "--to" ? {} : { to: receiver.url }));
      const args = ["--config", config, ...(where === "--to" ? ["--to", receiver.url] : [])];
      const { url } = await startServe(args, { cwd, env: { COUNTERSIGN_SECRET: SECRET } });
      await track(url);
      await expect.poll(receiver.attempts).toBe(1);
      await expect.poll(() => receiver.webhooks).toHaveLength(1);
    },
  );

  it("COUNTERSIGN_DATA: what was accepted survives in this directory, as an image is told to keep it", async () => {
    const data = join(temporaryDirectory(), "data");
    const { url } = await startServe(["--to", TO], { env: { COUNTERSIGN_DATA: data } });
    expect((await track(url)).status).toBe(200);
    expect(existsSync(data)).toBe(true);
  });

  it("--allow-host, each that is given, and no other", async () => {
    const allowed = ["one.internal", "two.internal"];
    const { url } = await startServe(["--to", TO, ...allowed.flatMap((name) => ["--allow-host", name])]);
    for (const host of allowed) expect(await statusOf(`${url}/api/sources`, { host })).toBe(200);
    expect(await statusOf(`${url}/api/sources`, { host: "three.internal" })).toBe(403);
  });

  it("--block-private-networks: nothing reaches a receiver on this machine", async () => {
    const receiver = closing(await startReceiver());
    const { url } = await startServe(["--to", receiver.url, "--block-private-networks"]);
    await track(url);
    const attempted = async (): Promise<string> => (await send(`${url}/api/deliveries`)).text;
    await expect.poll(attempted).toContain("ERR_ADDRESS_BLOCKED");
    expect(receiver.attempts()).toBe(0);
  });

  it.each([
    [
      "--proxy and --noproxy",
      (proxy: string) => [["--proxy", proxy, "--noproxy", "direct.invalid"], {}] as const,
    ],
    [
      "COUNTERSIGN_PROXY and COUNTERSIGN_NOPROXY",
      (proxy: string) => [[], { COUNTERSIGN_PROXY: proxy, COUNTERSIGN_NOPROXY: "direct.invalid" }] as const,
    ],
  ])("%s: endpoints are called through the proxy, and no others", async (_, given) => {
    const receiver = closing(await startReceiver());
    const proxy = await httpProxy();
    const { port } = new URL(receiver.url);
    const [args, env] = given(proxy.url);
    const urls = [`http://direct.invalid:${port}/`, `http://shop.example:${port}/`];
    const to = urls.flatMap((url) => ["--to", url]);
    const { url } = await startServe([...to, ...args], { env });
    await track(url);
    await expect.poll(receiver.attempts).toBe(1);
    const attempted = async (): Promise<string> => (await send(`${url}/api/deliveries`)).text;
    await expect.poll(attempted).toMatch(/"endpoint":"http:\/\/direct\.invalid[^}]*"getaddrinfo /);
    expect(proxy.asked).toEqual([`shop.example:${port}`]);
  });

  it.each([
    [["--proxy", "proxy.example:3128"], "`proxy`, or --proxy, must be the URL of an HTTP proxy"],
    [
      ["--proxy", "http://a:hidden@proxy.example", "--block-private-networks"],
      "--proxy, cannot be combined with",
    ],
    [["--noproxy", "http://a.example"], '`noProxy`, or --noproxy, has "http://a.example"'],
  ])("refuses %j with a sentence that says what to do", async (args, words) => {
    const { code, stderr } = await runHere(["serve", "--to", TO, ...args]);
    expect(stderr).toContain(words);
    expect(stderr).not.toContain("hidden");
    expect(code).toBe(2);
  });

  it("--max-bytes: what waits takes no more, and calls are answered 503", async () => {
    const { url } = await startServe(["--to", TO, "--max-bytes", "1048576"]);
    const codes = async (): Promise<unknown> => (await track(url, { text: "x".repeat(30_000) })).json();
    await vi.waitFor(async () => expect(await codes()).toMatchObject({ code: "store_full" }), {
      interval: 1,
    });
  });

  it("--keep-for: what has ended goes after that time", async () => {
    const receiver = closing(await startReceiver());
    const { url } = await startServe(["--to", receiver.url, "--keep-for", "1h", "--virtual-clock"]);
    await track(url);
    const deliveries = async (): Promise<unknown> => (await send(`${url}/api/deliveries`)).json();
    const advance = (time: string): ReturnType<typeof send> =>
      send(`${url}/api/clock`, { method: "POST", body: { advance: time } });
    await advance("1m");
    await expect.poll(deliveries).toMatchObject({ deliveries: [{}] });
    await advance("2h");
    // What is over its time is removed as something is stored.
    await track(url);
    await advance("1m");
    await expect.poll(deliveries).toMatchObject({ deliveries: [{}] });
  });

  it("--max-connections: more than that are closed", async () => {
    const { url } = await startServe(["--to", TO, "--max-connections", "5"]);
    const sockets = Array.from({ length: 20 }, () => connect(Number(new URL(url).port), "127.0.0.1"));
    cleanUp(() => sockets.forEach((socket) => socket.destroy()));
    for (const socket of sockets) socket.on("error", () => {});
    const closed = sockets.slice(0, 15).map((socket) => once(socket, "close"));
    expect(await Promise.all(closed)).toHaveLength(15);
  });
});

it("work heeds --token and --allow-host: others learn nothing of its deliveries", async () => {
  const store = `postgres://127.0.0.1:${await freePort()}/db`;
  const listening = ["--port", "0", "--token", "let-me-in", "--allow-host", "worker.internal"];
  const worker = startCommand(["work", "--store", store, ...listening]);
  const [, url = ""] = await worker.printed(/Answers (\S+)\/healthz/);
  await worker.printed(/Waits for the store/);
  const authorization = "Bearer let-me-in";
  expect(await statusOf(`${url}/metrics`)).toBe(401);
  // It has no store to tell of yet.
  expect(await statusOf(`${url}/metrics`, { authorization })).toBe(503);
  expect(await statusOf(`${url}/metrics`, { authorization, host: "worker.internal" })).toBe(503);
  expect(await statusOf(`${url}/metrics`, { authorization, host: "other.internal" })).toBe(403);
  expect(worker.stdout() + worker.stderr()).not.toContain("let-me-in");
});
