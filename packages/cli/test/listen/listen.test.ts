import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { Agent, createServer, request, type IncomingHttpHeaders } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { sign } from "@countersign/core";
import { createSender } from "@countersign/sender";
import { describe, expect, it, vi } from "vitest";
import { isWindows, noPosix } from "../../../core/test/support/windows.ts";
import { listen } from "../../src/listen/listen.ts";
import { runCommand, startCommand, type RunningCommand } from "../support/command.ts";
import { portOf, SECRET } from "../../../server/test/support/receiver.ts";
import { OTHER_PROTOCOLS } from "../../../server/test/support/other-protocols.ts";
import { cleanUp, closing, temporaryDirectory } from "../../../../tests/support/resources.ts";

interface Received {
  readonly body: Buffer;
  readonly headers: IncomingHttpHeaders;
}

interface App {
  readonly url: string;
  readonly received: Received[];
  status: number;
}

/** A receiver that keeps the exact bytes, and answers what it is told to. */
async function startApp(): Promise<App> {
  const app = { url: "", received: [] as Received[], status: 204 };
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      app.received.push({ body: Buffer.concat(chunks), headers: incoming.headers });
      response
        .writeHead(app.status, {
          "content-type": "text/plain",
          ...(app.status === 503 && { "retry-after": "7" }),
        })
        .end(app.status === 204 ? "" : "says the app");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanUp(() => {
    server.closeAllConnections();
    server.close();
  });
  app.url = `http://127.0.0.1:${portOf(server)}/webhooks`;
  return app;
}

async function startListen(args: readonly string[]): Promise<RunningCommand & { readonly url: string }> {
  const command = startCommand(["listen", "--port", "0", ...args]);
  const [, url = ""] = await command.printed(/(?:listens on |"url":")(http:\/\/[\d.:]+)/);
  return { ...command, url: `${url}/hooks/of/any/path` };
}

interface Answer {
  readonly status: number | undefined;
  readonly text: string;
  readonly retryAfter?: string;
}

/** A sender as the service documents it: a POST of the body with the hex HMAC-SHA1 of its bytes. */
async function post(
  url: string,
  body: string | Buffer,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const call = request(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Signature": sign(body, SECRET), ...headers },
  });
  call.end(body);
  const [response] = await once(call, "response");
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const retryAfter = response.headers["retry-after"];
  const text = Buffer.concat(chunks).toString();
  return { status: response.statusCode, text, ...(retryAfter !== undefined && { retryAfter }) };
}

const BODIES = [
  '{ "version" : 1, "type":"track", "userId":"u☕\u2028", "event" : "Ordered", "properties":{"price":41.50,"big":9007199254740993} }\n',
  '{"version":1,"type":"delete","userId":"u"}',
  '{"version":2,"type":"of-tomorrow","what":"ever"}',
];

describe("countersign listen", () => {
  it.skipIf(isWindows)(`records what is sent, and replay sends it byte for byte${noPosix}`, async () => {
    const file = join(temporaryDirectory(), "traffic.jsonl");
    const command = await startListen(["--secret", SECRET, "--record", file]);
    for (const body of BODIES) {
      const answer = await post(command.url, body, { "X-Team": "shop", "User-Agent": "documented/1" });
      expect(answer).toEqual({ status: 204, text: "" });
    }
    // Repeats are the service's own: a recording has each message once.
    await post(command.url, BODIES[0] ?? "");
    command.process.kill("SIGTERM");
    expect(await command.ended).toBe(0);

    const app = await startApp();
    const { code, stdout } = await runCommand(["replay", file, "--to", app.url, "--keep-headers"]);
    expect([code, stdout]).toEqual([0, "3 sent, 3 answered 2xx, 0 not.\n"]);
    expect(app.received.map(({ body }) => body.toString())).toEqual(BODIES);
    for (const { body, headers } of app.received) {
      expect(headers).toMatchObject({
        "x-signature": sign(body, SECRET),
        "content-type": "application/json",
        "user-agent": "documented/1",
        "x-team": "shop",
      });
    }
  });

  it("records our sender's messages so that a replay repeats its requests, headers and all", async () => {
    const file = join(temporaryDirectory(), "traffic.jsonl");
    const command = await startListen(["--secret", SECRET, "--record", file]);
    const app = await startApp();
    const headers = { "X-Team": "shop" };
    const endpoints = [
      { url: command.url, headers },
      { url: app.url, headers },
    ];
    const sender = closing(
      await createSender({ sources: [{ name: "s", destinations: [{ endpoints, secret: SECRET }] }] }),
    );
    const receipt = await sender.track({ userId: "u☕", event: "Ordered", properties: { total: 1.5 } });
    await receipt.settled();
    await command.printed(/verified 204 track "Ordered" of u☕/);
    const { code } = await runCommand(["replay", file, "--to", app.url, "--keep-headers"]);
    expect(code).toBe(0);
    const [direct, replayed] = app.received.map(
      ({ body, headers: { host: _, connection: __, ...others } }) => ({
        body: body.toString(),
        ...others,
      }),
    );
    expect(replayed).toEqual(direct);
  });

  it("explains a wrong secret, answers 401, and neither records nor forwards", async () => {
    const file = join(temporaryDirectory(), "traffic.jsonl");
    const app = await startApp();
    const command = await startListen(["--secret", `${SECRET} `, "--record", file, "--forward", app.url]);
    expect(await post(command.url, '{"type":"track"}')).toMatchObject({ status: 401 });
    await command.printed(
      /rejected 401 ERR_SIGNATURE_MISMATCH: The signature matches the secret with white space around it\./,
    );
    const forged = await post(command.url, '{"type":"track"}', { "X-Signature": sign("x", "other") });
    expect(forged.status).toBe(401);
    await command.printed(
      /matches neither this body nor a usual variation of it\. Compare the secret with the sender's\. If they are equal, this is not the body that was signed: something has changed its bytes\./,
    );
    expect(app.received).toEqual([]);
    expect(readFileSync(file, "utf8")).toBe("");
  });

  it("without a secret records everything and says that nothing was verified", async () => {
    const file = join(temporaryDirectory(), "traffic.jsonl");
    const command = await startListen(["--record", file]);
    await command.printed(/Verifies {4}nothing; pass --secret/);
    expect(await post(command.url, BODIES[1] ?? "", { "X-Signature": "none" })).toMatchObject({
      status: 204,
    });
    await command.printed(/unsigned 204 delete of u/);
    expect(readFileSync(file, "utf8").trimEnd().split("\n")).toHaveLength(1);
    await post(command.url, "not json", { "X-Signature": "none" });
    await command.printed(/unsigned 400 ERR_INVALID_JSON: The body is not valid JSON\.$/m);
    expect(command.stdout()).not.toContain("signature is required");
  });

  it("answers what the receiver answers, so that the service tries again what it did not accept", async () => {
    const app = await startApp();
    const command = await startListen(["--secret", SECRET, "--forward", app.url, "--header", "X-Env: test"]);
    for (const status of [204, 503, 422]) {
      app.status = status;
      const answer = await post(command.url, BODIES[1] ?? "", { "x-env": "production" });
      const pause = status === 503 ? { retryAfter: "7" } : {};
      expect(answer).toEqual({ status, text: status === 204 ? "" : "says the app", ...pause });
      await command.printed(
        new RegExp(`verified ${status} delete of u .*forwarded: ${status} in [\\d.]+ m?s`),
      );
    }
    expect(app.received[0]?.headers["x-env"]).toBe("test");
    expect(app.received[0]?.body.toString()).toBe(BODIES[1]);
  });

  it("answers 502 while the receiver is down, and goes on", async () => {
    const command = await startListen([
      "--secret",
      SECRET,
      "--forward",
      "http://127.0.0.1:9/hooks",
      "--json",
    ]);
    expect(await post(command.url, BODIES[1] ?? "")).toMatchObject({ status: 502 });
    await command.printed(
      /"forwarded":\{"outcome":"network","code":"ECONNREFUSED","durationMs":\d+(?:\.\d)?\}/,
    );
    expect(await post(command.url, BODIES[1] ?? "")).toMatchObject({ status: 502 });
  });

  it("records and names what is authentic but malformed, and answers as our receivers do", async () => {
    const file = join(temporaryDirectory(), "traffic.jsonl");
    const command = await startListen(["--secret", SECRET, "--record", file, "--body"]);
    expect(await post(command.url, '{"type":"track","event":7}')).toMatchObject({ status: 422 });
    await command.printed(/verified 422 ERR_INVALID_MESSAGE: /);
    await command.printed(/\{"type":"track","event":7\}/);
    expect(await post(command.url, "not json")).toMatchObject({ status: 400 });
    expect(readFileSync(file, "utf8").trimEnd().split("\n")).toHaveLength(2);
  });

  it("does not end for what is no webhook, or a request that is broken off", async () => {
    const command = await startListen(["--secret", SECRET]);
    expect((await fetch(command.url)).status).toBe(405);
    await command.printed(/rejected 405 ERR_METHOD_NOT_ALLOWED/);
    const broken = request(command.url, {
      method: "POST",
      headers: { "X-Signature": "a".repeat(40), "Content-Type": "application/json", "Content-Length": 100 },
    });
    broken.on("error", () => {});
    broken.write("{");
    await once(broken, "socket");
    await vi.waitFor(() => expect(broken.socket?.connecting).toBe(false));
    broken.destroy();
    await command.printed(/ERR_BODY_ABORTED/);
    expect(await post(command.url, BODIES[1] ?? "")).toMatchObject({ status: 204 });
  });
});

it("a listener that stops waits for requests, and not for connections without one", async () => {
  let answer = (): void => {};
  const app = createServer((incoming, response) => {
    incoming.resume();
    answer = () => void response.writeHead(204).end();
    app.emit("asked");
  });
  app.listen(0, "127.0.0.1");
  await once(app, "listening");
  cleanUp(() => app.close());
  const listener = await listen({ port: 0, forward: `http://127.0.0.1:${portOf(app)}/` });
  const agent = new Agent({ keepAlive: true });
  cleanUp(() => agent.destroy());
  const call = request(listener.url, {
    method: "POST",
    agent,
    headers: { "Content-Type": "application/json" },
  });
  const answered = once(call, "response");
  const asked = once(app, "asked");
  call.end(BODIES[0]);
  await asked;
  const silent = connect(Number(new URL(listener.url).port), "127.0.0.1");
  await once(silent, "connect");
  // The listener has accepted it when it answers a request of a later connection.
  await post(listener.url, "{}", { "Content-Type": "text/plain" });
  const closed = once(silent, "close");
  silent.resume();
  const stopped = listener.close(60_000);
  await closed;
  answer();
  const [response] = await answered;
  expect([response.statusCode, response.headers.connection]).toEqual([204, "close"]);
  response.resume();
  await stopped;
});

it.each<(typeof OTHER_PROTOCOLS)[number]>([
  ["TLS", Buffer.from("16030100", "hex"), "Configure the client with an http: address."],
  ...OTHER_PROTOCOLS,
])("says what to do when it is sent %s", async (_, header, advice) => {
  const errors: unknown[] = [];
  const listener = closing(await listen({ port: 0, onError: (error) => errors.push(error) }));
  const socket = connect(Number(new URL(listener.url).port), "127.0.0.1");
  cleanUp(() => socket.destroy());
  const answered = once(socket, "data");
  socket.write(header);
  socket.write("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n");

  expect(String(await answered)).toMatch(/^HTTP\/1\.1 400 /);
  expect(errors).toHaveLength(1);
  expect(String(errors[0])).toContain(advice);
});

describe("countersign listen that cannot start says why in one line", () => {
  it("on a port that is in use", async () => {
    const command = await startListen([]);
    const { port } = new URL(command.url);
    const { code, stderr } = await runCommand(["listen", "--port", port]);
    expect([code, stderr]).toEqual([
      2,
      `countersign: Port ${port} on 127.0.0.1 is already in use. Stop the process that listens there, or choose another port with --port.\n`,
    ]);
  });

  it("with a file that cannot be written", async () => {
    const { code, stderr } = await runCommand(["listen", "--port", "0", "--record", "/"]);
    expect(stderr).toMatch(
      /^countersign: Cannot record into \/: EISDIR.*\. Give --record a file that can be written\.\n$/,
    );
    expect(code).toBe(2);
  });
});

it("a recording that ends in the middle of a line is continued on a new one, so that nothing more is lost", async () => {
  const file = join(temporaryDirectory(), "traffic.jsonl");
  writeFileSync(
    file,
    '{"at":"2026-01-01T00:00:00.000Z","url":"http://a/","headers":{},"body":"{}"}\n{"at":"2026',
  );
  const command = await startListen(["--secret", SECRET, "--record", file]);
  await post(command.url, BODIES[1] ?? "");
  const app = await startApp();
  const { code, stdout, stderr } = await runCommand(["replay", file, "--to", app.url]);
  expect([code, stdout]).toEqual([1, "2 sent, 2 answered 2xx, 0 not. 1 line left out.\n"]);
  expect(stderr).toMatch(/^countersign: Left out: Line 2 is not JSON\./);
});
