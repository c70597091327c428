import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { connect as connectTcp, type Socket } from "node:net";
import { connect } from "node:tls";
import {
  createServer,
  ServerOptionsError,
  type CountersignServer,
  type TlsOptions,
} from "@countersign/server";
import { describe, expect, it, vi } from "vitest";
import { OTHER_PROTOCOLS } from "../support/other-protocols.ts";
import { cleanUp, closing } from "../../../../tests/support/resources.ts";

const pem = (name: string): string =>
  readFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url), "utf8");
const tls = { cert: pem("cert.pem"), key: pem("key.pem") };
const TO = "http://127.0.0.1:9/webhooks";

async function start(options: object = {}): Promise<CountersignServer> {
  return closing(await createServer({ to: TO, port: 0, tls, ...options }));
}

async function post(url: string, agent?: Agent): Promise<number | undefined> {
  const call = request(`${url}/v1/track`, { method: "POST", ca: tls.cert, agent });
  call.end('{"writeKey":"any","userId":"u","event":"E"}');
  const [answer] = await once(call, "response");
  answer.resume();
  await once(answer, "end");
  return answer.statusCode;
}

describe("a server with a certificate", () => {
  it("takes calls over TLS, and says so in its address and in what browser libraries load", async () => {
    const { url } = await start();
    expect(url).toMatch(/^https:/);
    expect(await post(url)).toBe(200);
    const call = request(`${url}/v1/projects/any/settings`, { ca: tls.cert }).end();
    const [answer] = await once(call, "response");
    const settings = JSON.parse(Buffer.concat(await answer.toArray()).toString());
    expect(settings.integrations["Segment.io"].protocol).toBe("https");
  });

  it("a client that does not trust the certificate sends nothing", async () => {
    const { url } = await start();
    const call = request(`${url}/v1/track`, { method: "POST", agent: false }).end("{}");
    const [error] = await once(call, "error");
    expect(error.code).toBe("DEPTH_ZERO_SELF_SIGNED_CERT");
  });

  it("the cookie of the page is not sent without TLS, where the network would see it", async () => {
    const { url } = await start({ token: "s3cret" });
    const call = request(`${url}/?token=s3cret`, { ca: tls.cert }).end();
    const [answer] = await once(call, "response");
    answer.resume();
    expect(answer.headers["set-cookie"]).toEqual([expect.stringMatching(/; Secure$/)]);
  });

  it("connections that never finish a request cannot keep out those that do", async () => {
    const { url } = await start({ maxConnections: 5 });
    const { port } = new URL(url);
    const idle: Socket[] = [];
    for (let n = 0; n < 20; n += 1) {
      // Half of them have not even begun to speak TLS.
      const socket =
        n % 2 ? connectTcp(Number(port), "127.0.0.1") : connect(Number(port), "127.0.0.1", { ca: tls.cert });
      socket.on("error", () => {});
      cleanUp(() => socket.destroy());
      idle.push(socket);
    }
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    cleanUp(() => agent.destroy());
    for (let n = 0; n < 5; n += 1) expect(await post(url, agent)).toBe(200);
    await vi.waitFor(() =>
      expect(idle.filter((socket) => socket.destroyed).length).toBeGreaterThanOrEqual(15),
    );
  });
});

it("says what to do when a client speaks TLS to a server without it", async () => {
  const errors: unknown[] = [];
  const { url } = closing(await createServer({ to: TO, port: 0, onError: (error) => errors.push(error) }));
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  cleanUp(() => socket.destroy());
  await once(socket, "error");
  await vi.waitFor(() => expect(String(errors[0])).toContain("--tls-self-signed"));
});

it.each(OTHER_PROTOCOLS)("says what to do when a load balancer sends %s", async (_, header, advice) => {
  const errors: unknown[] = [];
  const { url } = closing(await createServer({ to: TO, port: 0, onError: (error) => errors.push(error) }));
  const socket = connectTcp(Number(new URL(url).port), "127.0.0.1");
  cleanUp(() => socket.destroy());
  socket.write(header);
  socket.write("GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n");
  await vi.waitFor(() => expect(String(errors[0])).toContain(advice));
});

describe("a certificate that cannot be used is refused before anything listens", () => {
  const { cert, key } = tls;
  it.each<[string, object, RegExp]>([
    ["a key for a certificate", { cert: key, key }, /`tls.cert` is not a certificate: it is a private key/],
    ["a certificate for a key", { cert, key: cert }, /`tls.key` is not a private key: it is a certificate/],
    [
      "the key of another one",
      { cert, key: pem("other-key.pem") },
      /not the key of the certificate in `tls.cert` \(CN=countersign test\)/,
    ],
    ["a key with a passphrase", { cert, key: pem("encrypted-key.pem") }, /has a passphrase/],
    ["text", { cert: "hello", key }, /`tls.cert` is not a certificate: a certificate in PEM begins with/],
    ["nothing", { cert: "", key: "" }, /`tls.cert` is not a certificate/],
    ["no key", { cert }, /`tls.key` is not a private key: a key in PEM begins with/],
    [
      "a damaged certificate",
      { cert: cert.replace(/^MI.*$/m, "AAAA"), key },
      /`tls.cert` is a damaged certificate/,
    ],
    ["a damaged key", { cert, key: key.replace(/^MI.*$/m, "AAAA") }, /`tls.key` is a damaged private key/],
    ["an unknown name", { certificate: cert, key }, /unknown option "certificate"/],
  ])("%s", async (_what, options, message) => {
    const starting = createServer({ to: TO, port: 0, tls: options as TlsOptions });
    await expect(starting).rejects.toThrow(ServerOptionsError);
    await expect(starting).rejects.toThrow(message);
  });
});
