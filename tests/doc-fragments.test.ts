import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { parseEnv } from "node:util";
import { verifyWebhook } from "@countersign/express";
import { virtualClock } from "@countersign/protocol";
import { createServer, type CountersignServer } from "@countersign/server";
import express from "express";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { curlRequest } from "./support/curl-request.ts";
import { blocksOf, documents, placeOf, read, sources, type Block } from "./support/documents.ts";
import { commandLines } from "./support/shell-lines.ts";

const ALL = [...documents(), ...sources()].flatMap(blocksOf);
const SECRET = "dev";

function of(...languages: readonly string[]): readonly Block[] {
  const blocks = ALL.filter(({ language }) => languages.includes(language));
  expect(blocks.length).toBeGreaterThan(0);
  return blocks;
}

const clock = virtualClock(new Date());
let server: CountersignServer;
/** What the documents call http://localhost:3000/webhooks. */
let receiver: string;
const closing: (() => Promise<void>)[] = [];

beforeAll(async () => {
  const app = express();
  app.post("/webhooks", verifyWebhook({ secret: SECRET, onRejected() {} }), (request, response) => {
    // What waits is what was answered so.
    response.sendStatus(request.body.userId === "waits" ? 503 : 204);
  });
  const listening = createHttpServer(app).listen(0, "127.0.0.1");
  await once(listening, "listening");
  receiver = `http://127.0.0.1:${(listening.address() as AddressInfo).port}`;
  server = await createServer({
    to: `${receiver}/webhooks`,
    secret: SECRET,
    port: 0,
    clock,
  });
  closing.push(
    () => server.close(),
    async () => {
      listening.closeAllConnections();
      listening.close();
      await once(listening, "close");
    },
  );
});

afterAll(async () => {
  for (const close of closing) await close();
});

/** Records a call, and gives the id of its delivery. */
async function deliveryOf(userId: string): Promise<string> {
  const body = JSON.stringify({ type: "track", userId, event: "Hello" });
  const headers = { "content-type": "application/json" };
  // By its source: the examples add another one.
  await fetch(`${server.url}/api/messages?source=default`, { method: "POST", headers, body });
  await clock.advance(0);
  const answer = await fetch(`${server.url}/api/deliveries?identity=${userId}`);
  const { deliveries } = (await answer.json()) as { deliveries: readonly { readonly id: string }[] };
  return deliveries[0]?.id ?? "";
}

/** Records a call in strict mode, so that the answer says what is wrong with it. */
async function record(
  path: string,
  body: string,
): Promise<{ readonly status: number; readonly body: string }> {
  const headers = { authorization: `Basic ${btoa("any:")}`, "x-strict-mode": "1" };
  const answer = await fetch(`${server.url}/v1/${path}`, { method: "POST", headers, body });
  return { status: answer.status, body: await answer.text() };
}

describe("a block of an error page", () => {
  it("of JSON is a call, or a batch of calls, that the server accepts", async () => {
    const calls = of("json").filter(({ file }) => file.startsWith("docs/errors/"));
    expect(calls.length).toBeGreaterThan(10);
    for (const block of calls) {
      const isBatch = Object.hasOwn(JSON.parse(block.text) as object, "batch");
      const body = isBatch ? block.text : `{"batch":[${block.text}]}`;
      const at = placeOf(block);
      expect({ at, ...(await record("batch", body)) }).toEqual({ at, status: 200, body: '{"success":true}' });
    }
  });
});

it("every curl command to the server is answered as it should be", async () => {
  const pending = await deliveryOf("waits");
  const commands = commandLines(of("sh")).filter(
    ({ words }) => words[0] === "curl" && words.some((word) => word.startsWith("http://127.0.0.1:4010/")),
  );
  expect(commands.length).toBeGreaterThan(30);
  const refused: string[] = [];
  for (const [index, { at, words }] of commands.entries()) {
    // A new one each time: some commands remove it.
    const delivered = words.join().includes("DELIVERY") ? await deliveryOf(`u-${index}`) : "";
    // A body from a pipe: what is before it is not run here.
    if (words.includes("@-")) continue;
    const adapted = words.map((word) =>
      word
        .replace("http://127.0.0.1:4010", server.url)
        .replaceAll("http://localhost:3000", receiver)
        .replaceAll("DELIVERY", delivered)
        .replaceAll("PENDING", pending),
    );
    const { url, init } = curlRequest(adapted);
    const answer = await fetch(url, init);
    const text = await answer.text();
    // Lenient, the server answers 200 to a call that it rejects.
    const isRejected = url.includes("/v1/") && (await rejections()) > 0;
    if (!answer.ok || isRejected) refused.push(`${at}: ${words.join(" ")}: ${answer.status} ${text}`);
  }
  expect(refused).toEqual([]);
});

async function rejections(): Promise<number> {
  const answer = await fetch(`${server.url}/api/rejections`);
  return ((await answer.json()) as readonly unknown[]).length;
}

it("every block of HTTP is a request that a receiver with the secret of the examples accepts", async () => {
  for (const block of of("http")) {
    const [head = "", body = ""] = block.text.split("\n\n");
    const [line = "", ...fields] = head.split("\n");
    const [, method, path] = /^(POST) (\/\S*) HTTP\/1\.1$/.exec(line) ?? [];
    const headers = fields.map((field) => field.split(": ") as [string, string]);
    const answer = await fetch(`${receiver}${path}`, { method: method ?? line, headers, body });
    expect({ at: placeOf(block), status: answer.status }).toEqual({ at: placeOf(block), status: 204 });
  }
});

it("every block of HTML loads from the server what it shows, and records its call", async () => {
  for (const block of of("html")) {
    const [, url = ""] = /^<img\s+src="http:\/\/127\.0\.0\.1:4010([^"]+)"\s*\/>$/.exec(block.text) ?? [];
    const answer = await fetch(server.url + url, { headers: { "x-strict-mode": "1" } });
    const type = answer.headers.get("content-type");
    expect({ at: placeOf(block), status: answer.status, type }).toEqual({
      at: placeOf(block),
      status: 200,
      type: "image/gif",
    });
  }
});

/** The directives of nginx that documents show, with the values that its reference allows. */
const NGINX: Readonly<Record<string, RegExp>> = {
  client_body_timeout: /^\d+m?s$/,
  proxy_request_buffering: /^(?:on|off)$/,
};

it("every block for nginx has directives that nginx has, with values that they take", () => {
  for (const block of of("nginx")) {
    for (const line of block.text.split("\n")) {
      const [, name = "", value = ""] = /^(\w+) ([^;]+);$/.exec(line) ?? [];
      expect({ at: placeOf(block), line, value }).toEqual({
        at: placeOf(block),
        line,
        value: expect.stringMatching(NGINX[name] ?? /^no such directive$/),
      });
    }
  }
});

it("every block of variables sets some that the code of the documents reads, to a secret that works", () => {
  const used = of("ts").map(({ text }) => text);
  for (const block of of("dotenv")) {
    for (const [name, value = ""] of Object.entries(parseEnv(block.text))) {
      expect(used.some((text) => new RegExp(String.raw`\benv\.${name}\b`).test(text))).toBe(true);
      const given = [...read(block.file).matchAll(/--secret (?:"([^"]+)"|([\w-]+))/g)];
      const secrets = given.map(([, quoted, plain]) => quoted ?? plain);
      expect(secrets.length === 0 ? [SECRET] : secrets).toContain(value);
    }
  }
});
