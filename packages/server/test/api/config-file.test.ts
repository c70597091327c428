import { createServer } from "@countersign/server";
import type { SourceSettings } from "@countersign/sender";
import { expect, it } from "vitest";
import { send, type Answer } from "../support/http.ts";
import { closing } from "../../../../tests/support/resources.ts";

/** The config file that a server with such sources writes. */
async function configOf(sources: readonly SourceSettings[]): Promise<string> {
  const server = closing(await createServer({ sources, port: 0 }));
  const call = (method: string, path: string): Promise<Answer> =>
    send(`${server.url}/api${path}`, { method });
  const { status, text } = await call("GET", "/config");
  expect(status).toBe(200);
  return text;
}

it("the config file has the settings, and reads each credential from the environment", async () => {
  const text = await configOf([
    {
      name: 'a"b',
      writeKey: "a key",
      destinations: [
        {
          name: "webhooks",
          endpoints: [{ url: "http://127.0.0.1:9/", headers: { Authorization: "Bearer canary" } }],
          secret: "a shared secret",
          enabled: false,
        },
      ],
      blockedEvents: ["Debug", "\u202E\u2028\u{e0001}"],
    },
  ]);
  expect(text).toContain(String.raw`name: "a\"b"`);
  expect(text).toContain("writeKey: process.env.A_B_WRITE_KEY");
  expect(text).toContain("secret: process.env.A_B_WEBHOOKS_SECRET");
  expect(text).toContain('"Authorization": process.env.A_B_WEBHOOKS_AUTHORIZATION');
  expect(text).toContain("enabled: false");
  expect(text).toContain(String.raw`"\u202e\u2028\udb40\udc01"`);
  expect(text).not.toMatch(/\(hidden\)|canary|a key|a shared secret/);
});

it("the config file gives no endpoint the credentials of another one", async () => {
  const headers = { Authorization: "Bearer canary" };
  const endpoints = [
    { url: "http://127.0.0.1:9/a", headers },
    { url: "http://127.0.0.1:9/b", headers },
  ];
  const source = (name: string): SourceSettings => ({
    name,
    writeKey: `key of ${name}`,
    destinations: [{ name: "webhooks", endpoints, secret: "a shared secret" }],
  });
  const text = await configOf([source("магазин"), source("склад")]);
  const variables = text.match(/process\.env\.\w+/g) ?? [];
  expect(variables).toHaveLength(8);
  expect(new Set(variables).size).toBe(8);
});

it("the config file numbers the variables of names that no variable can have, since a few thousand of them stopped the server for a minute", async () => {
  const names = ["магазин", "склад", "2", "кафе", "рынок"];
  const text = await configOf(names.map((name) => ({ name, writeKey: `key of ${name}`, destinations: [] })));
  const variables = text.match(/(?<=process\.env\.)\w+/g) ?? [];
  expect(variables).toEqual(["_WRITE_KEY", "_WRITE_KEY_2", "_2_WRITE_KEY", "_WRITE_KEY_3", "_WRITE_KEY_4"]);
  const many = Array.from({ length: 1_000 }, (_, index) => ({
    name: String.fromCodePoint(0x4e00 + index),
    writeKey: `key ${index}`,
    destinations: [],
  }));
  expect((await configOf(many)).length).toBeLessThan(200 * many.length);
});
