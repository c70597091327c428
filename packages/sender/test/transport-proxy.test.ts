import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import type { Socket } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { setImmediate as nextTurn } from "node:timers/promises";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { createSender } from "@countersign/sender";
import { noAnswer } from "@countersign/sender/explain";
import { createTestSender, virtualClock } from "@countersign/sender/testing";
import { createConnector } from "../dist/transport/connector.js";
import { createTransport, type TransportOptions } from "../dist/transport/create-transport.js";
import { FailedAddresses } from "../dist/transport/failed-addresses.js";
import { optionsOf, parseProxy } from "../dist/transport/proxy.js";
import type { AttemptResult, Transport } from "../dist/transport/transport.js";
import { type Authority, createAuthority, selfSigned } from "./support/certificates.ts";
import { httpEndpoint, rawEndpoint } from "./support/endpoints.ts";
import { httpProxy, refusing } from "./support/proxy.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const body = new TextEncoder().encode("{}");
const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

let authority: Authority;
beforeAll(async () => {
  authority = await createAuthority();
});

function open(options: TransportOptions): Transport {
  const transport = createTransport(options);
  onTestFinished(() => transport.close());
  return transport;
}

function post(transport: Transport, url: string, ca?: string, timeoutMs = 5_000): Promise<AttemptResult> {
  return transport.send({ url, headers: { "x-signature": "00" }, body, ...(ca && { ca }) }, { timeoutMs });
}

function thrownBy(act: () => unknown): Error {
  try {
    act();
  } catch (error) {
    return error as Error;
  }
  throw new Error("nothing was thrown");
}

/** Sends in a process of its own, which trusts an authority as an administrator makes it: by NODE_EXTRA_CA_CERTS. */
async function sendInProcess(task: object, trusted: string): Promise<{ results: AttemptResult[] }> {
  const folder = temporaryFolder();
  const file = join(folder, "ca.pem");
  await writeFile(file, trusted);
  const script = fileURLToPath(new URL("support/child-proxied-transport.mjs", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [script, JSON.stringify(task)], {
    env: { ...process.env, NODE_EXTRA_CA_CERTS: file },
  });
  return JSON.parse(stdout) as { results: AttemptResult[] };
}

describe("through a proxy", () => {
  it("calls an endpoint over a tunnel, with a name that only the proxy knows, and says nothing of the proxy to the endpoint", async () => {
    const endpoint = await httpEndpoint((_, response) => response.end("thanks"));
    const proxy = await httpProxy();
    const resolveHost = vi.fn<() => Promise<never[]>>(async () => []);
    const transport = open({ proxy: proxy.url, resolveHost });
    const result = await post(transport, `http://shop.example:${endpoint.port}/hooks?x=1`);
    expect(result).toMatchObject({ outcome: "success", status: 200 });
    expect(text(result.responseBody)).toBe("thanks");
    expect(proxy.asked).toEqual([`shop.example:${endpoint.port}`]);
    expect(proxy.headers[0]).toEqual({ host: `shop.example:${endpoint.port}`, connection: "close" });
    const [seen] = endpoint.requests;
    expect(seen).toMatchObject({ method: "POST", path: "/hooks?x=1", body: Buffer.from("{}") });
    expect(Object.keys(seen?.headers ?? {})).not.toContain("proxy-authorization");
    expect(resolveHost).not.toHaveBeenCalled();
  });

  it("names an IPv6 address in brackets", async () => {
    const endpoint = await httpEndpoint();
    const proxy = await httpProxy();
    const result = await post(open({ proxy: proxy.url }), `http://[2001:db8::1]:${endpoint.port}/`);
    expect(result).toMatchObject({ outcome: "success", status: 204 });
    expect(proxy.asked).toEqual([`[2001:db8::1]:${endpoint.port}`]);
  });

  it("verifies the endpoint's certificate inside of the tunnel, and keeps the tunnel for the next request", async () => {
    const endpoint = await httpEndpoint(undefined, await authority.issue({ names: ["shop.example"] }));
    const proxy = await httpProxy();
    proxy.leadsTo.set(443, endpoint.port);
    const transport = open({ proxy: proxy.url });
    const first = await post(transport, "https://shop.example/", authority.pem);
    // The connection is free for another request in the next turn.
    await nextTurn();
    const second = await post(transport, "https://shop.example/", authority.pem);
    expect([first.status, second.status]).toEqual([204, 204]);
    expect(proxy.asked).toEqual(["shop.example:443"]);
    await transport.close();
    await vi.waitFor(() => expect([proxy.open.size, endpoint.open.size]).toEqual([0, 0]));
  });

  it.each([
    ["of another name", ["other.example"], "ERR_TLS_CERT_ALTNAME_INVALID"],
    ["of another authority", undefined, "DEPTH_ZERO_SELF_SIGNED_CERT"],
  ])("sends nothing to an endpoint with a certificate %s", async (_, names, code) => {
    const certificate = names
      ? await authority.issue({ names })
      : await selfSigned({ names: ["shop.example"] });
    const endpoint = await httpEndpoint(undefined, certificate);
    const proxy = await httpProxy();
    const transport = open({ proxy: proxy.url });
    const result = await post(transport, `https://shop.example:${endpoint.port}/`, authority.pem);
    expect(result).toMatchObject({ outcome: "tls", code });
    expect(endpoint.begun).toEqual([]);
    await vi.waitFor(() => expect(proxy.open.size).toBe(0));
  });

  it.each([
    ["http://proxy.example", 80],
    ["https://proxy.example", 443],
    ["https://proxy.example:3128", 3128],
  ])("calls %s at port %i", (proxy, port) => {
    expect(parseProxy({ proxy }, optionsOf("f"))?.port).toBe(port);
  });

  it("forgets a connection once it stands, and its timers, since a sender would keep each that it ever made", async () => {
    const endpoint = await rawEndpoint(() => {});
    const { url } = await httpProxy();
    const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
    const before = timers();
    const pending = new Set<Socket>();
    const connect = promisify(
      createConnector({
        proxy: parseProxy({ proxy: url }, optionsOf("f")),
        connectTimeoutMs: 600_000,
        pending,
        failed: new FailedAddresses(),
        resolveHost: () => Promise.reject(new Error("is not asked")),
      }),
    );
    for (const hostname of ["shop.example", "127.0.0.1"]) {
      const place = { hostname, host: hostname, port: String(endpoint.port), protocol: "http:" };
      const socket = await connect(place);
      onTestFinished(() => void socket?.destroy());
    }
    expect(pending.size).toBe(0);
    // One of others can end meanwhile.
    expect(timers()).toBeLessThanOrEqual(before);
  });

  it("gives the proxy the user name and the password in its URL", async () => {
    const endpoint = await httpEndpoint();
    const proxy = await httpProxy();
    const withCredentials = proxy.url.replace("//", "//team%40a:p%3Ass@");
    await post(open({ proxy: withCredentials }), `http://shop.example:${endpoint.port}/`);
    const credentials = Buffer.from("team@a:p:ss").toString("base64");
    expect(proxy.headers[0]?.["proxy-authorization"]).toBe(`Basic ${credentials}`);
    expect(endpoint.requests[0]?.headers).not.toHaveProperty("proxy-authorization");
  });

  it("speaks TLS with a proxy whose URL is https, and within that with the endpoint", async () => {
    const trusted = await createAuthority();
    const endpoint = await httpEndpoint(undefined, await authority.issue({ names: ["shop.example"] }));
    const plain = await httpEndpoint();
    const proxy = await httpProxy(undefined, await trusted.issue({ names: ["127.0.0.1"] }));
    const urls = [`https://shop.example:${endpoint.port}/`, `http://shop.example:${plain.port}/`];
    const { results } = await sendInProcess({ proxy: proxy.url, urls, ca: authority.pem }, trusted.pem);
    expect(results).toMatchObject([{ status: 204 }, { status: 204 }]);
    expect(proxy.asked).toEqual([`shop.example:${endpoint.port}`, `shop.example:${plain.port}`]);
  });
});

describe("what a proxy does not let through", () => {
  it.each([
    "407 Proxy Authentication Required",
    "403 Forbidden",
    "502 Bad Gateway",
    "301 Moved",
    "101 Switching Protocols",
    "600",
  ])("is tried again after its answer %s, which is not taken for that of the endpoint", async (status) => {
    const proxy = await httpProxy(refusing(status));
    const transport = open({ proxy: proxy.url.replace("//", "//user:hidden@") });
    const result = await post(transport, "https://shop.example/");
    expect(result).toMatchObject({
      outcome: "network",
      code: "ERR_PROXY",
      message: `the proxy ${proxy.url} answered ${status} to CONNECT shop.example:443`,
    });
    expect(result).not.toHaveProperty("status");
    await vi.waitFor(() => expect(proxy.open.size).toBe(0));
  });

  it("is tried again if nothing listens at the proxy", async () => {
    const gone = await rawEndpoint(() => {});
    const { port } = gone;
    await gone.close();
    const transport = open({ proxy: `http://127.0.0.1:${port}` });
    expect(await post(transport, "https://shop.example/")).toMatchObject({
      outcome: "network",
      code: "ERR_PROXY",
      message: `the proxy http://127.0.0.1:${port} cannot be used: connect ECONNREFUSED 127.0.0.1:${port}`,
    });
  });

  it("is tried again if the proxy's own certificate is not accepted, unlike that of an endpoint", async () => {
    const proxy = await httpProxy(undefined, await selfSigned({ names: ["127.0.0.1"] }));
    const result = await post(open({ proxy: proxy.url }), "https://shop.example/");
    expect(result).toMatchObject({
      outcome: "network",
      code: "ERR_PROXY",
      message: expect.stringContaining(
        `the proxy ${proxy.url} cannot be used: the certificate was not accepted`,
      ),
    });
    expect(proxy.asked).toEqual([]);
  });

  it.each([
    ["ends the connection", ""],
    ["does not speak HTTP", "SSH-2.0-OpenSSH_9.2\r\n"],
    ["sends headers without end", `HTTP/1.1 200 OK\r\n${"x: y\r\n".repeat(10_000)}`],
  ])("is tried again if the proxy %s", async (_, answer) => {
    const proxy = await rawEndpoint((socket) => void socket.once("data", () => socket.end(answer)));
    const result = await post(open({ proxy: `http://127.0.0.1:${proxy.port}` }), "https://shop.example/");
    expect(result).toMatchObject({ outcome: "network", code: "ERR_PROXY" });
    await vi.waitFor(() => expect(proxy.open.size).toBe(0));
  });

  it("is known to be the proxy's fault if it cannot be reached, though the attempt has no more time than a connection", async () => {
    const silent = await rawEndpoint(() => {});
    const transport = open({ proxy: `https://127.0.0.1:${silent.port}`, connectTimeoutMs: 100 });
    expect(await post(transport, "https://shop.example/", undefined, 100)).toMatchObject({
      outcome: "network",
      code: "ERR_PROXY",
      message: `the proxy https://127.0.0.1:${silent.port} cannot be used: no connection within 50 ms`,
    });
    await vi.waitFor(() => expect(silent.open.size).toBe(0));
  });

  it("is tried again if the proxy does not answer in time, and nothing stays open", async () => {
    const proxy = await httpProxy(() => {});
    const transport = open({ proxy: proxy.url, connectTimeoutMs: 50 });
    expect(await post(transport, "https://shop.example/")).toMatchObject({
      code: "ERR_PROXY",
      message: `the proxy ${proxy.url} cannot be used: no answer to CONNECT shop.example:443 within 50 ms`,
    });
    await vi.waitFor(() => expect(proxy.open.size).toBe(0));
  });

  it("is asked once if bytes come with its answer, which nobody asked for yet", async () => {
    const proxy = await httpProxy((_, client) => {
      client.write("HTTP/1.1 200 OK\r\n\r\n220 mail.example ready\r\n");
    });
    expect(await post(open({ proxy: proxy.url }), "http://shop.example/", undefined, 500)).toMatchObject({
      outcome: "network",
      code: "ERR_PROXY",
      message: `the proxy ${proxy.url} sent more than its answer to CONNECT shop.example:80`,
    });
    expect(proxy.asked).toEqual(["shop.example:80"]);
    await vi.waitFor(() => expect(proxy.open.size).toBe(0));
  });

  it("is a timeout if the endpoint does not answer inside of the tunnel, and nothing stays open", async () => {
    const endpoint = await rawEndpoint(() => {});
    const proxy = await httpProxy();
    const transport = open({ proxy: proxy.url, connectTimeoutMs: 50 });
    expect(await post(transport, `https://shop.example:${endpoint.port}/`)).toMatchObject({
      outcome: "timeout",
      code: "ETIMEDOUT",
      message: "no connection within 50 ms",
    });
    await vi.waitFor(() => expect([proxy.open.size, endpoint.open.size]).toEqual([0, 0]));
  });

  it.each([
    ["before it is asked", () => {}],
    ["inside of the tunnel", (_: unknown, __: unknown, pass: () => void) => pass()],
  ])("does not outlive the transport: closed %s", async (_, passing) => {
    const endpoint = await rawEndpoint(() => {});
    const proxy = await httpProxy(passing);
    // Longer than the test waits: nothing but the end of the transport ends it.
    const transport = open({ proxy: proxy.url, connectTimeoutMs: 600_000 });
    const sent = post(transport, `https://shop.example:${endpoint.port}/`);
    await vi.waitFor(() => expect(proxy.asked).toHaveLength(1));
    await transport.close();
    expect(await sent).toMatchObject({ outcome: "network" });
    await vi.waitFor(() => expect(proxy.open.size).toBe(0));
  });

  it.each(["end", "resetAndDestroy"] as const)(
    "is tried again if the tunnel breaks (%s) in a handshake, and if it breaks in an answer",
    async (breakWith) => {
      const certificate = await authority.issue({ names: ["shop.example"] });
      const secure = await httpEndpoint(
        () => [...proxy.open].forEach((socket) => socket[breakWith]()),
        certificate,
      );
      const silent = await rawEndpoint((socket) => {
        socket.once("data", () => [...proxy.open].forEach((client) => client[breakWith]()));
      });
      const proxy = await httpProxy();
      const transport = open({ proxy: proxy.url });
      const inHandshake = await post(transport, `https://shop.example:${silent.port}/`, authority.pem);
      const inAnswer = await post(transport, `https://shop.example:${secure.port}/`, authority.pem);
      expect([inHandshake.outcome, inAnswer.outcome]).toEqual(["network", "network"]);
      expect(secure.requests).toHaveLength(1);
    },
  );
});

describe("a sender behind a proxy", () => {
  it("delivers what the proxy refused once it lets it through, and says why it waits", async () => {
    const endpoint = await httpEndpoint();
    let refuses = true;
    const refuse = refusing("503 Service Unavailable");
    const proxy = await httpProxy((...args) => (refuses ? refuse : args[2])(...args));
    const clock = virtualClock("2026-01-01T00:00:00Z");
    const url = `http://shop.example:${endpoint.port}/`;
    const sender = await createSender({ url, secret: "s", clock, proxy: proxy.url, noProxy: ["internal"] });
    onTestFinished(() => sender.close());
    const receipt = await sender.track({ userId: "u1", event: "Ordered" });
    await clock.advance("1s");
    refuses = false;
    await clock.advance("1m");
    const [delivery] = await receipt.settled();
    expect(delivery?.state).toBe("delivered");
    const [refused, accepted] = delivery?.attempts ?? [];
    expect(refused).toMatchObject({
      outcome: "network",
      code: "ERR_PROXY",
      message: expect.stringContaining("503"),
    });
    expect(noAnswer("ERR_PROXY", "network").words).toContain("proxy");
    expect(accepted).toMatchObject({ outcome: "success", status: 204 });
    expect(endpoint.requests).toHaveLength(1);
  });

  it.each([createSender, createTestSender])(
    "refuses a proxy beside a transport that has its own",
    async (create) => {
      const transport = createTransport();
      const opened = create({ url: "http://shop.example", transport, proxy: "http://proxy.example" });
      await expect(opened).rejects.toThrow("({ transport, proxy }): a transport has this option itself.");
    },
  );
});

describe("who is called without the proxy", () => {
  const cases: readonly [host: string, noProxy: string | readonly string[], proxied: boolean][] = [
    ["shop.example", [], true],
    ["localhost", [], false],
    ["app.localhost", [], false],
    ["127.0.0.2", [], false],
    ["::1", [], false],
    ["0.0.0.0", [], false],
    ["::", [], false],
    ["localhost.example", [], true],
    ["shop.example", "shop.example", false],
    ["shop.example.", "shop.example", false],
    ["shop.example", "Shop.Example.", false],
    ["api.shop.example", "shop.example", false],
    ["api.shop.example", ".shop.example", false],
    ["shop.example", "*.shop.example", false],
    ["myshop.example", "shop.example", true],
    ["shop.example", "other.example, .example", false],
    ["shop.example", ["other.example", "shop.example"], false],
    ["shop.example", "*", false],
    ["shop.example", "", true],
    ["10.1.2.3", "10.0.0.0/8", false],
    ["11.1.2.3", "10.0.0.0/8", true],
    ["10.1.2.3", "10.1.2.3", false],
    ["10.1.2.3", "10.1.2.4", true],
    ["::ffff:10.1.2.3", "10.0.0.0/8", false],
    ["10.1.2.3", "::ffff:10.0.0.0/104", false],
    ["::ffff:10.1.2.3", "::ffff:10.0.0.0/104", false],
    ["11.1.2.3", "::ffff:10.0.0.0/104", true],
    ["10.1.2.3", "::ffff:10.1.2.3", false],
    ["10.1.2.3", "::/0", true],
    ["10.1.2.3", "::ffff:0:0/90", true],
    ["fd00::1", "::/0", false],
    ["fd00::1", "10.0.0.0/8,fd00::/8", false],
    ["fd00::1", "[fd00::1]", false],
    ["10.example", "10.0.0.0/8", true],
    ["xn--mnchen-3ya.example", "münchen.example", false],
  ];
  it.each(cases)("%s with noProxy %j: %s", (host, noProxy, proxied) => {
    const proxy = parseProxy({ proxy: "http://proxy.example", noProxy }, optionsOf("f"));
    expect(proxy?.isFor(host)).toBe(proxied);
  });

  it("does not ask the proxy for them", async () => {
    const endpoint = await httpEndpoint();
    const proxy = await httpProxy();
    const resolveHost = async () => [{ address: "127.0.0.1", family: 4 }];
    const transport = open({ proxy: proxy.url, noProxy: process.env["UNSET"] ?? "internal", resolveHost });
    const direct = await post(transport, `http://api.internal:${endpoint.port}/`);
    const local = await post(transport, endpoint.url);
    expect([direct.status, local.status]).toEqual([204, 204]);
    expect(proxy.asked).toEqual([]);
  });

  it("does not ask the proxy for an address that may never be called", async () => {
    const proxy = await httpProxy();
    const result = await post(open({ proxy: proxy.url }), "http://169.254.169.254/latest");
    expect(result).toMatchObject({ outcome: "rejected", code: "ERR_ADDRESS_BLOCKED" });
    expect(proxy.asked).toEqual([]);
  });
});

describe("options of a proxy that are wrong", () => {
  const wrong: readonly [TransportOptions, string][] = [
    [{ proxy: "" }, "is empty. Give the URL of an HTTP proxy"],
    [{ proxy: "proxy.example:3128" }, "must be the URL of an HTTP proxy, with http:// or https://"],
    [{ proxy: "socks5://user:hidden@proxy.example" }, "must be the URL of an HTTP proxy"],
    [{ proxy: "http://user:hidden@proxy.example/pac" }, "has something after the host and the port"],
    [{ proxy: "http://proxy.example?hidden" }, "has something after the host and the port"],
    [{ proxy: "http://user:hidden%zz@proxy.example" }, "has a % in its user name or password"],
    [{ proxy: new URL("http://user:hidden@proxy.example") as never }, "must be a URL as text"],
    [
      { proxy: "http://proxy.example", noProxy: "http://shop.example" },
      'noProxy }) has "http://shop.example"',
    ],
    [{ proxy: "http://proxy.example", noProxy: "shop.example:8080" }, 'noProxy }) has "shop.example:8080"'],
    [{ noProxy: ["10.0.0.0/33"] }, 'noProxy }) has "10.0.0.0/33"'],
    [{ noProxy: 3 as never }, "must be a text or a list of texts"],
    [{ proxy: "http://user:hidden@proxy.example", blockPrivateNetworks: true }, "cannot be combined with"],
    [{ httpsProxy: "http://proxy.example" } as never, "it is called proxy here"],
  ];
  it.each(wrong)("%j", (options, message) => {
    const error = thrownBy(() => createTransport(options));
    expect(error).toBeInstanceOf(TypeError);
    expect(error.message).toContain(message);
    expect(error.message).not.toContain("hidden");
  });

  it("are none if the variables that they come from are not set", async () => {
    const endpoint = await httpEndpoint();
    const transport = open({ proxy: undefined, noProxy: undefined });
    expect(await post(transport, endpoint.url)).toMatchObject({ status: 204 });
  });
});
