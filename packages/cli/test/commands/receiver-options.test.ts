import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { sign } from "@countersign/core";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { runCommand, startCommand, startServe } from "../support/command.ts";
import { runHere } from "../support/run-here.ts";
import { CA_FILE, startTlsReceiver } from "../support/tls-receiver.ts";
import { send } from "../../../server/test/support/http.ts";
import { httpProxy, refusing } from "../../../sender/test/support/proxy.ts";
import { SECRET, startReceiver } from "../../../server/test/support/receiver.ts";
import { closing, temporaryDirectory } from "../../../../tests/support/resources.ts";

const TOKEN = "Bearer canary";
const REACH = ["--header", `Authorization: ${TOKEN}`, "--header", "X-Team:shop", "--ca", CA_FILE];
const HEADERS = { authorization: TOKEN, "x-team": "shop" };

/** A recording of so many messages. */
function recording(count: number): string {
  const file = join(temporaryDirectory(), "traffic.jsonl");
  const lines = Array.from({ length: count }, (_, index) => {
    const body = JSON.stringify({ version: 1, type: "track", userId: `u${index}`, event: "Ordered" });
    return JSON.stringify({
      headers: { "Content-Type": "application/json", "X-Signature": sign(body, SECRET) },
      body,
    });
  });
  writeFileSync(file, lines.map((line) => `${line}\n`).join(""));
  return file;
}

function calls(count: number): string {
  const file = join(temporaryDirectory(), "calls.jsonl");
  const lines = Array.from({ length: count }, (_, index) =>
    JSON.stringify({ type: "track", userId: `u${index}`, event: "Ordered" }),
  );
  writeFileSync(file, lines.join("\n"));
  return file;
}

describe("--proxy and --noproxy", () => {
  it.each([
    ["send", () => ["send", "track"]],
    ["replay", () => ["replay", recording(1)]],
  ])("have %s call the receiver through the proxy", async (_, command) => {
    const receiver = closing(await startReceiver());
    const proxy = await httpProxy();
    const to = receiver.url.replace("127.0.0.1", "shop.example");
    const args = [
      ...command(),
      "--to",
      to,
      "--secret",
      SECRET,
      "--noproxy",
      "internal",
      "--proxy",
      proxy.url,
    ];
    expect(await runCommand(args)).toMatchObject({ code: 0 });
    expect(proxy.asked).toEqual([new URL(to).host]);
    expect(receiver.webhooks).toHaveLength(1);
    const refused = await runHere([...args, "--proxy", "http://a:hidden@proxy.example/x"]);
    expect(refused.stderr).toMatch(/--proxy has something after the host/);
    expect(refused.stderr).not.toContain("hidden");
    expect(refused.code).toBe(2);
  });

  it("have send say why the proxy lets nothing through", async () => {
    const proxy = await httpProxy(refusing("407 Proxy Authentication Required"));
    const args = ["send", "track", "--to", "https://shop.example/", "--secret", SECRET, "--proxy", proxy.url];
    const { code, stdout, stderr } = await runCommand(args);
    expect(code).toBe(1);
    expect(stdout).toContain("the proxy did not let the request through");
    expect(stdout).toContain(`"the proxy ${proxy.url} answered 407 Proxy Authentication Required to CONNECT`);
    expect(stderr).toContain("407 asks for a user name and a password");
  });
});

describe("--header and --ca reach a receiver that wants both", () => {
  it("from send", async () => {
    const receiver = await startTlsReceiver(TOKEN);
    const { code, stdout } = await runCommand([
      "send",
      "track",
      "--to",
      receiver.url,
      "--secret",
      SECRET,
      ...REACH,
    ]);
    expect([code, stdout]).toEqual([0, expect.stringContaining("204")]);
    expect(receiver.headers).toEqual([expect.objectContaining(HEADERS)]);
  });

  it("from replay, in place of the recorded headers of the same name", async () => {
    const receiver = await startTlsReceiver(TOKEN);
    const { code } = await runCommand(["replay", recording(2), "--to", receiver.url, ...REACH]);
    expect(code).toBe(0);
    expect(receiver.headers).toEqual([expect.objectContaining(HEADERS), expect.objectContaining(HEADERS)]);
  });

  it("from listen --forward", async () => {
    const receiver = await startTlsReceiver(TOKEN);
    const listener = startCommand(["listen", "--port", "0", "--forward", receiver.url, ...REACH]);
    const [, url = ""] = await listener.printed(/listens on (http:[^\s,]+)/);
    const body = { version: 1, type: "track", userId: "u1", event: "Ordered" };
    const headers = { "x-signature": sign(JSON.stringify(body), SECRET) };
    expect((await send(url, { method: "POST", headers, body })).status).toBe(204);
    expect(receiver.headers).toEqual([expect.objectContaining(HEADERS)]);
    expect(listener.stdout() + listener.stderr()).not.toContain("canary");
  });

  it("from certify", async () => {
    const receiver = await startTlsReceiver(TOKEN);
    const { code } = await runCommand([
      "certify",
      receiver.url,
      "--secret",
      SECRET,
      "--only",
      "accepts-track",
      ...REACH,
    ]);
    expect(code).toBe(0);
    expect(receiver.headers[0]).toMatchObject(HEADERS);
  });

  it("certify runs so many audits at the same time: one gets its answer only beside another", async () => {
    let screenCame: (() => void) | undefined;
    const screen = new Promise<void>((resolve) => (screenCame = resolve));
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const { type } = JSON.parse(Buffer.concat(chunks).toString()) as { readonly type: string };
        if (type === "screen") screenCame?.();
        void (type === "page" ? screen : Promise.resolve()).then(() => response.writeHead(204).end());
      });
    }).listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const only = ["accepts-track", "accepts-page", "accepts-screen"].flatMap((id) => ["--only", id]);
    const url = `http://127.0.0.1:${port}/`;
    const { code, stderr } = await runCommand([
      "certify",
      url,
      "--secret",
      SECRET,
      ...only,
      "--concurrency",
      "4",
    ]);
    expect([code, stderr]).toEqual([0, ""]);
  });

  it("from serve, whose page and API do not show the values", async () => {
    const receiver = await startTlsReceiver(TOKEN);
    const server = await startServe(["--to", receiver.url, "--secret", SECRET, ...REACH]);
    await send(`${server.url}/v1/track`, {
      method: "POST",
      body: { writeKey: "any", userId: "u", event: "E" },
    });
    await vi.waitFor(() => expect(receiver.headers).toEqual([expect.objectContaining(HEADERS)]));
    const shown = await Promise.all(
      ["/", "/api/sources", "/api/deliveries"].map(async (path) => (await fetch(server.url + path)).text()),
    );
    expect(shown.join()).not.toContain("canary");
    expect(server.stdout() + server.stderr()).not.toContain("canary");
  });

  it("and without them the message says what to pass", async () => {
    const receiver = await startTlsReceiver(TOKEN);
    const { code, stderr } = await runCommand(["send", "track", "--to", receiver.url, "--secret", SECRET]);
    expect(code).toBe(1);
    expect(stderr).toContain("(--ca FILE)");
    expect(receiver.headers).toEqual([]);
  });
});

it("certify says how to trust a private certificate, and sends nothing before", async () => {
  const receiver = await startTlsReceiver(TOKEN);
  const { code, stderr } = await runCommand(["certify", receiver.url, "--secret", SECRET]);
  expect(stderr).toContain("If its certificate is of a private authority, pass that with --ca.");
  expect([code, receiver.headers]).toEqual([1, []]);
});

describe("--concurrency", () => {
  it.each([
    ["replay", () => ["replay", recording(6)]],
    ["send", () => ["send", "--secret", SECRET, "--file", calls(6)]],
  ])("is how many messages %s has in flight at once", async (_name, args) => {
    // Answers only when three are there: with fewer at once, each would time out.
    const receiver = await startTlsReceiver(TOKEN, 3);
    const { code } = await runCommand([...args(), "--to", receiver.url, ...REACH, "--concurrency", "3"]);
    expect([code, receiver.headers.length, receiver.mostAtOnce()]).toEqual([0, 6, 3]);
  });

  it("is how many messages serve has in flight at once", async () => {
    const receiver = await startTlsReceiver(TOKEN, 2);
    const server = await startServe([
      "--to",
      receiver.url,
      "--secret",
      SECRET,
      ...REACH,
      "--concurrency",
      "2",
    ]);
    const batch = Array.from({ length: 6 }, (_, index) => ({
      type: "track",
      userId: `u${index}`,
      event: "E",
    }));
    await send(`${server.url}/v1/batch`, { method: "POST", body: { writeKey: "any", batch } });
    await vi.waitFor(() => expect(receiver.headers).toHaveLength(6));
    expect(receiver.mostAtOnce()).toBe(2);
  });
});

describe("an option that is wrong is told before anything is sent, without the value of a header", () => {
  it.each<[string, string[], string | RegExp]>([
    [
      "no colon",
      ["--header", "Authorization Bearer canary"],
      "--header takes a name and a value with a colon between them, in quotes: --header 'X-Team: shop'",
    ],
    [
      "the same header twice",
      ["--header", "X-Team: canary", "--header", "x-team: b"],
      "--header X-Team is given twice; upper and lower case are the same. Give it once.",
    ],
    [
      "a header of the sender",
      ["--header", "X-Signature: canary"],
      "--header X-Signature is set by the sender itself and cannot be given.",
    ],
    [
      "a name that is not legal",
      ["--header", "X(Team): canary"],
      "--header X(Team) is not a valid header name.",
    ],
    [
      "a file that is not there",
      ["--ca", "none.pem"],
      /--ca: .*none\.pem cannot be read: ENOENT.*\. Give the file of/,
    ],
    [
      "a file without a certificate",
      ["--ca", "empty.pem"],
      /--ca: .*empty\.pem has no certificate in PEM\. Give the file of/,
    ],
    [
      "a certificate that is damaged",
      ["--ca", "bad.pem"],
      /--ca cannot be used: ca contains a PEM certificate that cannot be read/,
    ],
  ])("%s", async (_title, args, message) => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, "empty.pem"), "");
    writeFileSync(join(cwd, "bad.pem"), "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    writeFileSync(join(cwd, "traffic.jsonl"), "");
    const to = ["--to", "http://127.0.0.1:9/hooks"];
    for (const command of [
      ["send", "track", ...to],
      ["replay", "traffic.jsonl", ...to],
      ["serve", ...to, "--port", "0"],
      ["certify", "http://127.0.0.1:9/hooks", "--secret", "s"],
    ]) {
      const { code, stdout, stderr } = await runHere([...command, ...args], { cwd });
      expect({ command, code, stdout }).toEqual({ command, code: 2, stdout: "" });
      if (typeof message === "string") expect(stderr).toBe(`countersign: ${message}\n`);
      else expect(stderr).toMatch(message);
      expect(stderr).not.toContain("canary");
    }
  });
});

describe("a secret that ends with a line break, as one from a file", () => {
  const TO = "http://127.0.0.1:1/";

  it.each([
    ["send", "track", "--to", TO],
    ["certify", TO],
    ["replay", recording(1), "--to", TO],
  ])("is told by %s, as receivers tell theirs, and not shown", async (...args) => {
    const { stderr } = await runCommand([...args, "--secret", "hush-hush\n"]);
    expect(stderr.match(/\[COUNTERSIGN_SECRET\] Warning: A webhook secret has white space/g)).toHaveLength(1);
    expect(stderr).not.toContain("hush");
  });

  it("is told by serve, also where it stands in the config file", async () => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, "countersign.config.json"), JSON.stringify({ to: TO, secret: "hush-hush\n" }));
    const server = await startServe([], { cwd });
    await server.printed(/\[COUNTERSIGN_SECRET\]/);
    expect(server.stdout() + server.stderr()).not.toContain("hush");
  });

  it("is not told where it has a space inside alone", async () => {
    const { stderr } = await runCommand(["send", "track", "--to", TO, "--secret", "hush hush"]);
    expect(stderr).not.toContain("COUNTERSIGN_SECRET");
  });
});
